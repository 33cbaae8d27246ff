#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/kernel_args.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Loads the code onto the current GPU: to be done before it is launched there.
Status load_small_m(const KernelConfig& kernel);

/// How many clusters of `split` CTAs the current GPU runs at a time. Unsupported where not even one fits.
Status small_m_clusters(const KernelConfig& kernel, int split, int* clusters);

/// Whether TMA brings the several blocks of a stage in one box: K is cut in blocks of 64 then, which are a
/// dimension of the tensor map, and must be whole, since what is behind the end of a line is the next one.
bool loads_whole_stages(const KernelConfig& kernel, int k);

/// How a kernel for small M is launched.
struct SmallMLaunch {
  bool overlaps;             ///< it may start before the kernel before it in the stream ends (griddepcontrol)
  bool triggers_dependents;  ///< the kernel behind it may start before it ends
  bool is_alpha_only;        ///< D = alpha · sum in the inputs' type, and can be stored by 16 bytes
};

/// Enqueues what `args` say. tensor_map_a, tensor_map_b: K-major, 128B swizzle, of loaded_lines() and block_n
/// lines; if loads_whole_stages() [batch, K / 64, lines, 64] by boxes of a stage's blocks, or else
/// [batch, 1, lines, K] by those of one. split: CTAs of a cluster that share a tile's K, at most its blocks of
/// block_k. sm_90.
Status launch_small_m(const KernelConfig& kernel, int split, const TensorMap& tensor_map_a,
                      const TensorMap& tensor_map_b, const KernelArgs& args, const SmallMLaunch& launch,
                      cudaStream_t stream);

}  // namespace hopper_gemm::library
