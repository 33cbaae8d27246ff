#pragma once

#include <cuda.h>

#include "common/driver_entry_point.hpp"
#include "device/tensor_map.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The type of cuTensorMapEncodeTiled.
using TensorMapEncodeFn = CUresult (*)(CUtensorMap* tensor_map, CUtensorMapDataType type, cuuint32_t rank,
                                       void* base, const cuuint64_t* extents, const cuuint64_t* strides_bytes,
                                       const cuuint32_t* box, const cuuint32_t* element_strides,
                                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill);

/// The type of cuTensorMapReplaceAddress.
using TensorMapReplaceAddressFn = CUresult (*)(CUtensorMap* tensor_map, void* base);

/// Looks `cuTensorMapEncodeTiled` up in the installed driver, without linking against libcuda.
DriverEntryPoint find_tensor_map_encoder();

/// The same for `cuTensorMapReplaceAddress`. Every driver that has the encoder has it.
DriverEntryPoint find_tensor_map_address_replacer();

/// Ok if `entry_point` can be called. Otherwise the message says whether the driver is missing or too old.
Status check_tensor_map_entry_point(const DriverEntryPoint& entry_point);

/// Like encode_tensor_map(), with a driver function that the caller passes.
Status encode_tensor_map_with(TensorMapEncodeFn encode, const TensorMapSpec& spec, TensorMap* tensor_map);

}  // namespace hopper_gemm
