#include "device/tensor_map.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>

#include "common/cuda_check.hpp"
#include "device/tensor_map_driver.hpp"

namespace hopper_gemm {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
static_assert(alignof(TensorMap) >= alignof(CUtensorMap));

constexpr std::size_t kMaxRank = 5;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStrideBytes = std::int64_t{1} << 40;
constexpr int kMaxBoxExtent = 256;
constexpr int kAlignmentBytes = 16;
constexpr int kFirstDriverWithTma = 12000;

int element_bytes(TensorMapType type) { return type == TensorMapType::Fp32 ? 4 : 2; }

CUtensorMapDataType driver_type(TensorMapType type) {
  switch (type) {
    case TensorMapType::Bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case TensorMapType::Fp16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TensorMapType::Fp32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
  return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

CUtensorMapSwizzle driver_swizzle(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return CU_TENSOR_MAP_SWIZZLE_NONE;
    case Swizzle::B32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case Swizzle::B64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case Swizzle::B128: return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMapL2promotion driver_l2_promotion(L2Promotion promotion) {
  switch (promotion) {
    case L2Promotion::None: return CU_TENSOR_MAP_L2_PROMOTION_NONE;
    case L2Promotion::B64: return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case L2Promotion::B128: return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case L2Promotion::B256: return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  }
  return CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

Status bad_dimension(const char* what, std::size_t dimension, std::int64_t value, const std::string& rule) {
  return invalid_argument("tensor map: " + std::string(what) + " of dimension " + std::to_string(dimension) +
                          " is " + std::to_string(value) + ", but must be " + rule);
}

Status check_spec(const TensorMapSpec& spec) {
  const std::size_t rank = spec.extents_elems.size();
  if (rank < 1 || rank > kMaxRank) {
    return invalid_argument("tensor map: rank " + std::to_string(rank) + " is outside 1 to 5");
  }
  if (spec.strides_bytes.size() != rank - 1 || spec.box_elems.size() != rank) {
    return invalid_argument("tensor map: a tensor of rank " + std::to_string(rank) + " takes " +
                            std::to_string(rank - 1) + " strides and " + std::to_string(rank) +
                            " box extents");
  }
  if (spec.base == nullptr) return invalid_argument("tensor map: the base address is null");
  if (std::bit_cast<std::uintptr_t>(spec.base) % kAlignmentBytes != 0) {
    return invalid_argument("tensor map: the base address is not 16-byte aligned");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t extent = spec.extents_elems[i];
    if (extent < 1 || extent > kMaxExtent) return bad_dimension("the extent", i, extent, "1 to 2^32");
    const int box = spec.box_elems[i];
    if (box < 1 || box > kMaxBoxExtent) return bad_dimension("the box extent", i, box, "1 to 256");
  }
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    const std::int64_t stride = spec.strides_bytes[i];
    if (stride < kAlignmentBytes || stride >= kMaxStrideBytes || stride % kAlignmentBytes != 0) {
      return bad_dimension("the stride in bytes", i + 1, stride, "a multiple of 16 below 2^40");
    }
  }
  const int inner_bytes = spec.box_elems[0] * element_bytes(spec.type);
  if (inner_bytes % kAlignmentBytes != 0) {
    return bad_dimension("the box's size in bytes", 0, inner_bytes, "a multiple of 16");
  }
  if (spec.swizzle != Swizzle::None && inner_bytes > swizzle_span_bytes(spec.swizzle)) {
    return bad_dimension("the box's size in bytes", 0, inner_bytes,
                         "at most the swizzle span of " + std::to_string(swizzle_span_bytes(spec.swizzle)));
  }
  return {};
}

Status refused(const char* function, CUresult result) {
  return {result == CUDA_ERROR_INVALID_VALUE ? StatusCode::Unsupported : StatusCode::CudaError,
          std::string(function) + " failed with CUresult " + std::to_string(result)};
}

}  // namespace

DriverEntryPoint find_tensor_map_encoder() {
  return find_driver_function("cuTensorMapEncodeTiled", kFirstDriverWithTma);
}

DriverEntryPoint find_tensor_map_address_replacer() {
  return find_driver_function("cuTensorMapReplaceAddress", kFirstDriverWithTma);
}

Status check_tensor_map_entry_point(const DriverEntryPoint& entry_point) {
  if (entry_point.function != nullptr) return {};
  if (entry_point.driver_version == 0)
    return unsupported("no NVIDIA driver is installed, so TMA cannot be set up");
  const int version = entry_point.driver_version;
  return unsupported("the installed NVIDIA driver (CUDA " + std::to_string(version / 1000) + "." +
                     std::to_string(version % 1000 / 10) +
                     ") has no functions for tensor maps: install a driver for CUDA 12.0 or newer");
}

Status encode_tensor_map_with(TensorMapEncodeFn encode, const TensorMapSpec& spec, TensorMap* tensor_map) {
  HG_RETURN_IF_ERROR(check_spec(spec));
  const std::size_t rank = spec.extents_elems.size();
  std::array<cuuint64_t, kMaxRank> extents{};
  std::array<cuuint64_t, kMaxRank> strides_bytes{};
  std::array<cuuint32_t, kMaxRank> box{};
  std::array<cuuint32_t, kMaxRank> element_strides{};
  for (std::size_t i = 0; i < rank; ++i) {
    extents[i] = static_cast<cuuint64_t>(spec.extents_elems[i]);
    box[i] = static_cast<cuuint32_t>(spec.box_elems[i]);
    element_strides[i] = 1;
    if (i + 1 < rank) strides_bytes[i] = static_cast<cuuint64_t>(spec.strides_bytes[i]);
  }
  CUtensorMap encoded{};
  const CUresult result = encode(
      &encoded, driver_type(spec.type), static_cast<cuuint32_t>(rank), const_cast<void*>(spec.base),
      extents.data(), strides_bytes.data(), box.data(), element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      driver_swizzle(spec.swizzle), driver_l2_promotion(spec.l2_promotion),
      spec.oob_fill == OobFill::Zeros ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
                                      : CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
  if (result != CUDA_SUCCESS) return refused("cuTensorMapEncodeTiled", result);
  *tensor_map = std::bit_cast<TensorMap>(encoded);
  return {};
}

Status encode_tensor_map(const TensorMapSpec& spec, TensorMap* tensor_map) {
  static const DriverEntryPoint entry_point = find_tensor_map_encoder();
  HG_RETURN_IF_ERROR(check_tensor_map_entry_point(entry_point));
  return encode_tensor_map_with(reinterpret_cast<TensorMapEncodeFn>(entry_point.function), spec, tensor_map);
}

Status replace_tensor_map_address(const void* base, TensorMap* tensor_map) {
  static const DriverEntryPoint entry_point = find_tensor_map_address_replacer();
  HG_RETURN_IF_ERROR(check_tensor_map_entry_point(entry_point));
  const CUresult result = reinterpret_cast<TensorMapReplaceAddressFn>(entry_point.function)(
      reinterpret_cast<CUtensorMap*>(tensor_map), const_cast<void*>(base));
  return result == CUDA_SUCCESS ? Status() : refused("cuTensorMapReplaceAddress", result);
}

Status make_tensor_map_2d(const char* name, const void* base, std::int64_t rows, std::int64_t cols,
                          std::int64_t leading_dimension, int box_rows, int box_cols, TensorMap* tensor_map,
                          Swizzle swizzle) {
  const std::array<std::int64_t, 2> extents = {cols, rows};
  // Cuts the pitch to a value that is refused anyway, so that the product cannot overflow.
  const std::array<std::int64_t, 1> strides_bytes = {std::min(leading_dimension, kMaxStrideBytes) *
                                                     element_bytes(TensorMapType::Bf16)};
  const std::array<int, 2> box = {box_cols, box_rows};
  TensorMapSpec spec;
  spec.base = base;
  spec.extents_elems = extents;
  spec.strides_bytes = strides_bytes;
  spec.box_elems = box;
  spec.swizzle = swizzle;
  const Status status = encode_tensor_map(spec, tensor_map);
  if (status.ok()) return status;
  return {status.code(), std::string(name) + ": " + status.message()};
}

Status check_tensor_map_support() { return check_tensor_map_entry_point(find_tensor_map_encoder()); }

}  // namespace hopper_gemm
