#include <cuda/std/cstdint>

#include "common/random.cuh"
#include "hopper_gemm/data_type.hpp"
#include "verify/element.cuh"
#include "verify/fill.hpp"
#include "verify/grid_stride.cuh"

namespace hopper_gemm::fill {

struct FillPlan {
  cuda::std::int64_t rows;
  cuda::std::int64_t cols;
  cuda::std::int64_t ld;
  DataKind kind;
  float density;
  cuda::std::uint64_t seed;
};

__device__ float draw(const FillPlan& plan, cuda::std::uint64_t index) {
  const cuda::std::uint64_t bits = random_bits(plan.seed, index);
  switch (plan.kind) {
    case DataKind::Normal: return normal_deviate(bits);
    case DataKind::Uniform: return 2.0F * uniform_deviate(bits) - 1.0F;
    case DataKind::Integers:
      if (uniform_deviate(bits) > plan.density) return 0.0F;
      return (bits & 1) != 0 ? 1.0F : -1.0F;
  }
  return 0.0F;
}

__global__ void fill_kernel(void* data, DataType type, FillPlan plan) {
  const cuda::std::int64_t size = plan.rows * plan.ld;
  for (cuda::std::int64_t i = grid_stride_begin(); i < size; i += grid_stride()) {
    const bool padding = i % plan.ld >= plan.cols;
    const float value = padding ? nanf("") : draw(plan, static_cast<cuda::std::uint64_t>(i));
    store_element(data, type, i, value);
  }
}

}  // namespace hopper_gemm::fill

// Host side
#include <algorithm>
#include <cmath>

#include "common/cuda_check.hpp"

namespace hopper_gemm {

using namespace fill;

double integer_density(std::int64_t k) {
  constexpr double kMaxDensity = 0.5;
  constexpr double kMaxStandardDeviation = 24;
  return std::min(kMaxDensity, kMaxStandardDeviation / std::sqrt(static_cast<double>(k)));
}

Status fill_matrix(void* data, DataType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                   DataKind kind, double density, std::uint64_t seed, cudaStream_t stream) {
  const FillPlan plan = {rows, cols, ld, kind, static_cast<float>(density), seed};
  fill_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(data, type, plan);
  return cuda_status(cudaGetLastError(), "filling a matrix");
}

}  // namespace hopper_gemm
