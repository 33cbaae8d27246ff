#include "benchmark/elementwise_epilogue.hpp"

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/matrix_lines.hpp"
#include "device/gemm_epilogue.cuh"

namespace hopper_gemm {
namespace {

constexpr int kThreads = 256;

/// rows, columns: extents of the product of all batches. A batch has batch_rows rows.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    epilogue_kernel(const T* product, std::int64_t ld, GemmEpilogue epilogue, std::int64_t rows,
                    int batch_rows, int columns) {
  const int chunk_columns = epilogue.is_gated ? 2 * kChunkElems : kChunkElems;
  const int chunks = ceil_div(columns, chunk_columns);
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t row = index / chunks;
  const int column = static_cast<int>(index % chunks) * chunk_columns;
  if (row >= rows) return;
  const auto load = [&](float(&values)[kChunkElems], int at) {
    ElementChunk<T> chunk;
    load_chunk(chunk, product + row * ld + at, columns - at, has_aligned_chunks<T>(product, ld));
#pragma unroll
    for (int i = 0; i < kChunkElems; ++i) values[i] = static_cast<float>(chunk.elements[i]);
    add_bias(values, epilogue, static_cast<int>(row % batch_rows), at, columns - at);
  };
  float values[kChunkElems];
  float up[kChunkElems];
  load(values, column);
  if (epilogue.is_gated) load(up, column + kChunkElems);
  activate(values, epilogue.activation);
  if (epilogue.is_gated) {
#pragma unroll
    for (int i = 0; i < kChunkElems; ++i) values[i] *= up[i];
  }
  T* const d = static_cast<T*>(epilogue.d) + row * epilogue.ldd;
  const int d_column = epilogue.is_gated ? column / 2 : column;
  const int d_columns = epilogue.is_gated ? columns / 2 : columns;
  store_chunk(values, d + d_column, d_columns - d_column, has_aligned_chunks<T>(epilogue.d, epilogue.ldd));
}

template <typename T>
void launch_epilogue(const GemmArgs& args, const GemmArgs& product, cudaStream_t stream) {
  GemmEpilogue epilogue;
  epilogue.d = args.d;
  epilogue.ldd = args.ldd;
  epilogue.output_type = args.output_type;
  epilogue.bias = args.bias;
  epilogue.bias_kind = args.bias_kind;
  epilogue.bias_type = args.output_type;
  epilogue.activation = args.activation;
  epilogue.is_gated = args.gated;
  const std::int64_t rows = std::int64_t{args.batch_count} * args.shape.m;
  const std::int64_t threads = rows * ceil_div(args.shape.n, args.gated ? 2 * kChunkElems : kChunkElems);
  epilogue_kernel<T>
      <<<static_cast<unsigned>(ceil_div(threads, std::int64_t{kThreads})), kThreads, 0, stream>>>(
          static_cast<const T*>(product.d), product.ldd, epilogue, rows, args.shape.m, args.shape.n);
}

std::int64_t product_pitch(const GemmProblem& problem) { return padded_pitch(problem.shape.n, 0); }

}  // namespace

bool is_fused_by_cublas(const GemmProblem& problem) {
  return !problem.gated && problem.bias != Bias::PerRow && problem.activation != Activation::Gelu &&
         problem.activation != Activation::Silu;
}

std::int64_t ElementwiseEpilogue::required_bytes(const GemmProblem& problem) {
  if (!problem.gated) return 0;
  return lines_of_d(problem).lines * product_pitch(problem) * size_of(problem.output_type);
}

Status ElementwiseEpilogue::allocate(const GemmProblem& problem) {
  return gated_product_.allocate(required_bytes(problem));
}

GemmArgs ElementwiseEpilogue::product_of(const GemmArgs& args) const {
  GemmArgs product = args;
  product.bias_kind = Bias::None;
  product.bias = nullptr;
  product.activation = Activation::None;
  product.gated = false;
  if (!args.gated) return product;
  product.d = gated_product_.data();
  product.ldd = product_pitch(problem_of(args));
  return product;
}

Status ElementwiseEpilogue::launch(const GemmArgs& args, cudaStream_t stream) const {
  const GemmArgs product = product_of(args);
  switch (args.output_type) {
    case DataType::BFloat16: launch_epilogue<__nv_bfloat16>(args, product, stream); break;
    case DataType::Float16: launch_epilogue<__half>(args, product, stream); break;
    case DataType::Float32: launch_epilogue<float>(args, product, stream); break;
  }
  return cuda_status(cudaGetLastError(), "launching the elementwise epilogue");
}

}  // namespace hopper_gemm
