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

/// What TMA writes to shared memory where a box extends past the tensor's edge. The mbarrier counts these bytes as if
/// they had been read, so the expected transaction count is that of the whole box.
enum class OobFill { Zeros, NanRequestZeroFma };

/// A tiled tensor in global memory, and the box that one TMA instruction moves. The contiguous dimension comes first:
/// the extents of a row-major [M, K] matrix are {K, M}.
struct TensorMapSpec {
  TensorMapType type = TensorMapType::Bf16;
  const void* base = nullptr;                   ///< device address, 16-byte aligned
  std::span<const std::int64_t> extents_elems;  ///< 1 to 5 of them, each 1 to 2^32
  std::span<const std::int64_t> strides_bytes;  ///< of dimensions 1 and up: multiples of 16, below 2^40
  std::span<const int> box_elems;   ///< one per dimension, each 1 to 256; innermost a multiple of 16 bytes
  Swizzle swizzle = Swizzle::None;  ///< the box's contiguous bytes must not exceed its width
  L2Promotion l2_promotion = L2Promotion::None;
  OobFill oob_fill = OobFill::Zeros;
};

/// Encodes `spec` with the driver's cuTensorMapEncodeTiled (CUDA Driver API "Tensor Map Object Management"). The
/// runtime looks the function up, so that a program also starts without libcuda. Element strides are 1, and there is no
/// interleave. Thread-safe. Touches no device memory.
///
/// InvalidArgument: a field breaks a rule above; the message names it. The driver is not called then.
/// Unsupported: there is no driver, it is older than CUDA 12.0, or it refuses the map. CudaError: the driver failed
/// otherwise.
Status encode_tensor_map(const TensorMapSpec& spec, TensorMap* tensor_map);

/// Replaces the address in `*tensor_map` by `base`, a 16-byte aligned device address, with the driver's
/// cuTensorMapReplaceAddress. This takes a third of the time of encoding. Thread-safe. Touches no device memory. Fails
/// like encode_tensor_map().
Status replace_tensor_map_address(const void* base, TensorMap* tensor_map);

/// The map of a row-major bf16 matrix [rows, cols], with boxes of [box_rows, box_cols]. leading_dimension: elements
/// from a row's start to the next. With 128B swizzle box_cols is at most 64, and the tile [box_rows, 64] in shared
/// memory is K-major if cols is K. name: the matrix's name in error messages ("A").
Status make_tensor_map_2d(const char* name, const void* base, std::int64_t rows, std::int64_t cols,
                          std::int64_t leading_dimension, int box_rows, int box_cols, TensorMap* tensor_map,
                          Swizzle swizzle = Swizzle::B128);

/// Ok if the installed driver has the functions for tensor maps. Otherwise the message says what is missing and what to
/// install.
Status check_tensor_map_support();

}  // namespace hopper_gemm
