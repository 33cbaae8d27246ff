#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// Element `index` of an array of `type`. The result is exact, because double holds every value of each type.
HG_HOST_DEVICE inline double load_element(const void* data, DataType type, cuda::std::int64_t index) {
  switch (type) {
    case DataType::BFloat16:
      return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]));
    case DataType::Float16: return static_cast<double>(__half2float(static_cast<const __half*>(data)[index]));
    case DataType::Float32: return static_cast<double>(static_cast<const float*>(data)[index]);
  }
  return 0;
}

/// Stores `value`, rounded to nearest even.
HG_HOST_DEVICE inline void store_element(void* data, DataType type, cuda::std::int64_t index, float value) {
  switch (type) {
    case DataType::BFloat16: static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value); break;
    case DataType::Float16: static_cast<__half*>(data)[index] = __float2half_rn(value); break;
    case DataType::Float32: static_cast<float*>(data)[index] = value; break;
  }
}

/// `value` rounded once, to nearest even, to `type`.
HG_HOST_DEVICE inline double round_to(DataType type, double value) {
  switch (type) {
    case DataType::BFloat16: return static_cast<double>(__bfloat162float(__double2bfloat16(value)));
    case DataType::Float16: return static_cast<double>(__half2float(__double2half(value)));
    case DataType::Float32: return static_cast<double>(static_cast<float>(value));
  }
  return 0;
}

/// The largest relative error of rounding to `type`: half a unit in the last significant bit.
HG_HOST_DEVICE constexpr double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::BFloat16: return 0x1p-8;
    case DataType::Float16: return 0x1p-11;
    case DataType::Float32: return 0x1p-24;
  }
  return 0;
}

}  // namespace hopper_gemm
