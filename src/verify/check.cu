#include <math_constants.h>

#include <cuda/std/cstdint>

#include "hopper_gemm/host_device.hpp"
#include "verify/activation.cuh"
#include "verify/check.hpp"
#include "verify/element.cuh"
#include "verify/grid_stride.cuh"

namespace hopper_gemm::check {

// The activation's argument, and the factor of its result, which is 1 without a gate.
struct Reference {
  double argument;
  double factor;
};

// The index of an element's argument in `ref`. The factor of a gate is kGateColumns behind it.
HG_HOST_DEVICE inline cuda::std::int64_t index_of_argument(cuda::std::int64_t i,
                                                           const CheckOperands& operands) {
  if (!operands.gated) return i;
  const cuda::std::int64_t column = i % operands.n;
  return (i / operands.n * operands.n + column / kGateColumns * kGateColumns) * 2 + column % kGateColumns;
}

HG_HOST_DEVICE inline Reference reference_of(cuda::std::int64_t i, const CheckOperands& operands) {
  const double* const argument = operands.ref + index_of_argument(i, operands);
  return {argument[0], operands.gated ? argument[kGateColumns] : 1};
}

// The expected value of element i before rounding.
HG_HOST_DEVICE inline double expected_of(cuda::std::int64_t i, const CheckOperands& operands) {
  const Reference reference = reference_of(i, operands);
  return reference_activation(operands.activation, reference.argument) * reference.factor;
}

// Whether element i keeps the rule.
HG_HOST_DEVICE inline bool element_ok(double value, cuda::std::int64_t i, const CheckOperands& operands,
                                      const CheckRule& rule) {
  const Activation activation = operands.activation;
  const DataType type = operands.type;
  const double expected = expected_of(i, operands);
  if (rule.kind == CheckRule::Kind::Exact) return value == round_to(type, expected);
  const Reference reference = reference_of(i, operands);
  const auto error_of = [&](double ref) {
    return rule.slack + (rule.rounds_before ? unit_roundoff(type) * (fabs(ref) + rule.largest_bias) : 0);
  };
  const double activated = fabs(reference_activation(activation, reference.argument));
  const double activated_error = largest_slope(activation) * error_of(reference.argument) +
                                 approximation_error(activation) * fabs(reference.argument);
  const double factor_error = operands.gated ? error_of(reference.factor) : 0;
  const double error = activated_error * (fabs(reference.factor) + factor_error) + activated * factor_error;
  // A comparison with NaN is false, so NaN is never inside the bound.
  return fabs(value - expected) <= unit_roundoff(type) * fabs(expected) + error;
}

// Element i of D.
HG_HOST_DEVICE inline double value_at(const CheckOperands& operands, cuda::std::int64_t i) {
  return load_element(operands.d, operands.type, i / operands.n * operands.ldd + i % operands.n);
}

struct Counts {
  unsigned long long wrong;
  unsigned long long nans;
  unsigned long long first_wrong_index;
};

__global__ void check_kernel(CheckOperands operands, CheckRule rule, Counts* counts) {
  const cuda::std::int64_t size = operands.m * operands.n;
  for (cuda::std::int64_t i = grid_stride_begin(); i < size; i += grid_stride()) {
    const double value = value_at(operands, i);
    if (element_ok(value, i, operands, rule)) continue;
    atomicAdd(&counts->wrong, 1ULL);
    if (isnan(value)) atomicAdd(&counts->nans, 1ULL);
    atomicMin(&counts->first_wrong_index, static_cast<unsigned long long>(i));
  }
}

__device__ bool is_guard(const GuardedOutput& output, cuda::std::int64_t index) {
  const cuda::std::int64_t i = index - output.offset;
  return i < 0 || i >= output.m * output.ldd || i % output.ldd >= output.n;
}

__global__ void poison_kernel(GuardedOutput output) {
  for (cuda::std::int64_t i = grid_stride_begin(); i < output.size; i += grid_stride()) {
    output.allocation[i] = is_guard(output, i) ? kGuard : kPoison;
  }
}

__global__ void count_touched_guards_kernel(GuardedOutput output, unsigned long long* touched) {
  for (cuda::std::int64_t i = grid_stride_begin(); i < output.size; i += grid_stride()) {
    if (is_guard(output, i) && output.allocation[i] != kGuard) atomicAdd(touched, 1ULL);
  }
}

__global__ void count_differences_kernel(const cuda::std::uint16_t* x, const cuda::std::uint16_t* y,
                                         cuda::std::int64_t size, unsigned long long* differences) {
  for (cuda::std::int64_t i = grid_stride_begin(); i < size; i += grid_stride()) {
    if (x[i] != y[i]) atomicAdd(differences, 1ULL);
  }
}

// Non-negative doubles have the order of their bits.
__device__ void atomic_max(unsigned long long* bits, double value) {
  atomicMax(bits, static_cast<unsigned long long>(__double_as_longlong(value)));
}

__global__ void max_abs_error_kernel(const float* values, const double* ref, cuda::std::int64_t size,
                                     unsigned long long* bits) {
  double largest = 0;
  for (cuda::std::int64_t i = grid_stride_begin(); i < size; i += grid_stride()) {
    const double error = fabs((values == nullptr ? 0.0 : static_cast<double>(values[i])) - ref[i]);
    // fmax ignores a NaN, so a NaN counts as infinity.
    largest = fmax(largest, isnan(error) ? CUDART_INF : error);
  }
  atomic_max(bits, largest);
}

}  // namespace hopper_gemm::check

// Host side
#include <cmath>
#include <cstring>
#include <limits>

#include "common/device_buffer.hpp"

namespace hopper_gemm {

using namespace check;

namespace {

// Runs `launch(counter)` over one zeroed device counter and fetches it.
template <typename Counter, typename Launch>
Status run_counter(Counter* counter, cudaStream_t stream, Launch launch) {
  DeviceBuffer<Counter> device;
  HG_RETURN_IF_ERROR(device.allocate(1));
  HG_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(device.data(), counter, sizeof(Counter), cudaMemcpyHostToDevice, stream));
  launch(device.data());
  HG_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  HG_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(counter, device.data(), sizeof(Counter), cudaMemcpyDeviceToHost, stream));
  HG_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  return {};
}

}  // namespace

Status check_device(const CheckOperands& operands, const CheckRule& rule, cudaStream_t stream,
                    CheckResult* result) {
  Counts counts = {0, 0, std::numeric_limits<unsigned long long>::max()};
  HG_RETURN_IF_ERROR(run_counter(&counts, stream, [&](Counts* device) {
    check_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(operands, rule, device);
  }));
  *result = CheckResult{};
  result->wrong = static_cast<std::int64_t>(counts.wrong);
  result->nans = static_cast<std::int64_t>(counts.nans);
  if (result->ok()) return {};

  const auto index = static_cast<std::int64_t>(counts.first_wrong_index);
  const std::int64_t offset = index / operands.n * operands.ldd + index % operands.n;
  float element = 0;  // has room for any type
  HG_RETURN_IF_CUDA_ERROR(
      cudaMemcpy(&element, static_cast<const char*>(operands.d) + offset * size_of(operands.type),
                 static_cast<std::size_t>(size_of(operands.type)), cudaMemcpyDeviceToHost));
  // Copies all references that the element needs: from the gate's to its factor's.
  constexpr int kMost = kGateColumns + 1;
  double references[kMost] = {};
  CheckOperands on_host = operands;
  on_host.ref = references;
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpy(references, operands.ref + index_of_argument(index, operands),
                                     sizeof(double) * (operands.gated ? kMost : 1), cudaMemcpyDeviceToHost));
  result->first_wrong_reference = expected_of(0, on_host);
  result->first_wrong_index = index;
  result->first_wrong_value = load_element(&element, operands.type, 0);
  return {};
}

CheckResult check_host(const CheckOperands& operands, const CheckRule& rule) {
  CheckResult result;
  for (std::int64_t i = 0; i < operands.m * operands.n; ++i) {
    const double value = value_at(operands, i);
    if (element_ok(value, i, operands, rule)) continue;
    if (result.wrong == 0) {
      result.first_wrong_index = i;
      result.first_wrong_value = value;
      result.first_wrong_reference = expected_of(i, operands);
    }
    ++result.wrong;
    if (std::isnan(value)) ++result.nans;
  }
  return result;
}

Status poison_output(const GuardedOutput& output, cudaStream_t stream) {
  poison_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(output);
  return cuda_status(cudaGetLastError(), "poisoning the output");
}

Status count_touched_guards(const GuardedOutput& output, cudaStream_t stream, std::int64_t* touched) {
  unsigned long long count = 0;
  HG_RETURN_IF_ERROR(run_counter(&count, stream, [&](unsigned long long* device) {
    count_touched_guards_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(output, device);
  }));
  *touched = static_cast<std::int64_t>(count);
  return {};
}

Status count_differences(const GuardedOutput& x, const GuardedOutput& y, cudaStream_t stream,
                         std::int64_t* differences) {
  unsigned long long count = 0;
  HG_RETURN_IF_ERROR(run_counter(&count, stream, [&](unsigned long long* device) {
    count_differences_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(x.allocation, y.allocation,
                                                                                   x.size, device);
  }));
  *differences = static_cast<std::int64_t>(count);
  return {};
}

Status max_abs_error(const float* values, const double* ref, std::int64_t size, cudaStream_t stream,
                     double* max_error) {
  unsigned long long bits = 0;
  HG_RETURN_IF_ERROR(run_counter(&bits, stream, [&](unsigned long long* device) {
    max_abs_error_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(values, ref, size, device);
  }));
  static_assert(sizeof(bits) == sizeof(*max_error));
  std::memcpy(max_error, &bits, sizeof(bits));
  return {};
}

Status max_abs(const double* ref, std::int64_t size, cudaStream_t stream, double* max_value) {
  return max_abs_error(nullptr, ref, size, stream, max_value);
}

}  // namespace hopper_gemm
