#include "gemm/host/interleave.hpp"

#include <algorithm>
#include <cstdint>

#include "gemm/host/enqueue.hpp"

namespace hopper_gemm::library {
namespace {

constexpr int kThreads = 256;

/// The index of an element of an operand in memory.
__device__ __forceinline__ cuda::std::int64_t index_of(const OperandArgs& operand, cuda::std::int64_t batch,
                                                       cuda::std::int64_t n, cuda::std::int64_t k) {
  const bool is_k_major = operand.major == OperandMajor::K;
  return batch * operand.batch_stride + (is_k_major ? n : k) * operand.leading_dimension +
         (is_k_major ? k : n);
}

__global__ void __launch_bounds__(kThreads)
    interleave_kernel(const cuda::std::uint16_t* gate, const cuda::std::uint16_t* up, OperandArgs halves,
                      cuda::std::uint16_t* to, OperandArgs b, cuda::std::int64_t n, cuda::std::int64_t k,
                      cuda::std::int64_t batches) {
  const bool is_k_major = b.major == OperandMajor::K;
  const cuda::std::int64_t line_elems = is_k_major ? k : n;
  const cuda::std::int64_t stride = cuda::std::int64_t{gridDim.x} * kThreads;
  for (cuda::std::int64_t i = cuda::std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < batches * n * k;
       i += stride) {
    const cuda::std::int64_t batch = i / (n * k);
    const cuda::std::int64_t line = i % (n * k) / line_elems;
    const cuda::std::int64_t elem = i % line_elems;
    const cuda::std::int64_t column = is_k_major ? line : elem;
    const cuda::std::int64_t along_k = is_k_major ? elem : line;
    const bool is_up = column / kGateColumns % 2 != 0;
    const cuda::std::int64_t of_half = column / (2 * kGateColumns) * kGateColumns + column % kGateColumns;
    to[index_of(b, batch, column, along_k)] = (is_up ? up : gate)[index_of(halves, batch, of_half, along_k)];
  }
}

}  // namespace

Status launch_interleave(const KernelArgs& args, const OperandArgs& halves, const void* gate, const void* up,
                         void* b, cudaStream_t stream) {
  constexpr std::int64_t kMostCtas = 1 << 14;
  const std::int64_t batches = args.b.batch_stride == 0 ? 1 : args.batch_count;
  const std::int64_t elems = batches * args.shape.n * args.shape.k;
  const LaunchShape launch = {
      .ctas = static_cast<unsigned>(std::min(kMostCtas, ceil_div(elems, std::int64_t{kThreads}))),
      .cluster_size = 1,
      .threads = kThreads,
      .smem_bytes = 0,
      .overlaps = false};
  return enqueue(interleave_kernel, launch, stream, static_cast<const std::uint16_t*>(gate),
                 static_cast<const std::uint16_t*>(up), halves, static_cast<std::uint16_t*>(b), args.b,
                 std::int64_t{args.shape.n}, std::int64_t{args.shape.k}, batches);
}

}  // namespace hopper_gemm::library
