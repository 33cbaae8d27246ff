#include "neighbour_kernels.hpp"

#include <ptx/special_registers.cuh>

namespace hopper_gemm {
namespace {

__global__ void empty_kernel() {}

__global__ void copy_kernel(std::uint16_t* to, const std::uint16_t* from, std::size_t elems) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elems; i += stride) {
    to[i] = from[i];
  }
}

__global__ void staying_kernel(const volatile int* stop) {
  constexpr std::uint64_t kMostNs = 10'000'000'000;
  const std::uint64_t end = ptx::globaltimer() + kMostNs;
  while (*stop == 0 && ptx::globaltimer() < end) __nanosleep(1000);
}

}  // namespace

cudaError_t launch_empty_kernel(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_copy_that_does_not_wait(std::uint16_t* to, const std::uint16_t* from, std::size_t elems,
                                           cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, copy_kernel, to, from, elems);
}

cudaError_t launch_kernel_that_stays(int ctas, const volatile int* stop, cudaStream_t stream) {
  // So much that nothing else with shared memory fits beside it.
  constexpr int kSharedBytes = 227 << 10;
  const cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void*>(staying_kernel),
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  staying_kernel<<<static_cast<unsigned>(ctas), 32, kSharedBytes, stream>>>(stop);
  return cudaGetLastError();
}

}  // namespace hopper_gemm
