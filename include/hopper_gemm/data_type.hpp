#pragma once

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// Element types of A, B, C and D.
enum class DataType { BFloat16, Float16, Float32 };

/// Bytes of one element.
HG_HOST_DEVICE constexpr int size_of(DataType type) { return type == DataType::Float32 ? 4 : 2; }

/// "bf16", "fp16" or "fp32", as command lines and tables spell the type.
HG_HOST_DEVICE constexpr const char* to_string(DataType type) {
  switch (type) {
    case DataType::BFloat16: return "bf16";
    case DataType::Float16: return "fp16";
    case DataType::Float32: return "fp32";
  }
  return "";
}

/// How a matrix lies in memory: either its rows or its columns are contiguous.
enum class Layout { RowMajor, ColumnMajor };

}  // namespace hopper_gemm
