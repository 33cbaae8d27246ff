#pragma once

#include <cstdint>
#include <span>

#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Element types that the project's kernels move with TMA.
enum class TensorMapType { Bf16, Fp16, Fp32 };

/// Bytes that an L2 miss caused by TMA fetches from memory.
enum class L2Promotion { None, B64, B128, B256 };

/// What TMA puts in shared memory where a box reaches over the tensor's edge. Either way the bytes count on
/// the mbarrier as if they had been read, so the expected transaction count is that of the whole box.
enum class OobFill { Zeros, NanRequestZeroFma };

/// A tiled tensor in global memory and the box that one TMA instruction moves. Dimensions count from the
/// fastest: for a row-major [M, K] matrix extents are {K, M}.
struct TensorMapSpec {
  TensorMapType type = TensorMapType::Bf16;
  const void* base = nullptr;                   ///< device address, 16-byte aligned
  std::span<const std::int64_t> extents_elems;  ///< 1 to 5 of them, each 1 to 2^32
  std::span<const std::int64_t> strides_bytes;  ///< of dimensions 1 and up: multiples of 16, below 2^40
  std::span<const int> box_elems;   ///< one per dimension, each 1 to 256; innermost a multiple of 16 bytes
  Swizzle swizzle = Swizzle::None;  ///< the box's innermost bytes must not exceed the span
  L2Promotion l2_promotion = L2Promotion::None;
  OobFill oob_fill = OobFill::Zeros;
};

/// Encodes `spec` through the driver's cuTensorMapEncodeTiled (CUDA Driver API "Tensor Map Object
/// Management"). The entry point is looked up through the runtime, so that a program starts without libcuda.
/// Element strides are 1 and there is no interleave. Thread-safe; touches no device memory.
///
/// InvalidArgument names the field that breaks a rule above, before the driver is asked.
/// Unsupported: no driver, one older than CUDA 12.0, or the driver takes no such map. CudaError: it failed otherwise.
Status encode_tensor_map(const TensorMapSpec& spec, TensorMap* tensor_map);

/// Moves what `*tensor_map` describes to `base`, a 16-byte aligned device address, by the driver's
/// cuTensorMapReplaceAddress: a third of the time that encoding it takes. Thread-safe; touches no device
/// memory. Fails as encode_tensor_map().
Status replace_tensor_map_address(const void* base, TensorMap* tensor_map);

/// A row-major matrix [rows, cols] of bf16 with `leading_dimension` elements between rows, moved in boxes of
/// [box_rows, box_cols]. With the 128-byte swizzle box_cols is at most 64, and the shared-memory tile [box_rows,
/// 64] is K-major when cols is K. `name` stands in error messages ("A").
Status make_tensor_map_2d(const char* name, const void* base, std::int64_t rows, std::int64_t cols,
                          std::int64_t leading_dimension, int box_rows, int box_cols, TensorMap* tensor_map,
                          Swizzle swizzle = Swizzle::B128);

/// Ok when the installed driver has the tensor-map entry point; otherwise what is missing and what to
/// install.
Status check_tensor_map_support();

}  // namespace hopper_gemm
