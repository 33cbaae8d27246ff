#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <span>

#include "hopper_gemm/gemm_args.hpp"
#include "hopper_gemm/tile_config.hpp"

// Every rung's host functions; the kernels themselves are private to their files.
#define HG_DECLARE_VERSION(version)                         \
  namespace hopper_gemm::ampere::version {                  \
  Status can_implement(const GemmArgs& args);               \
  Status launch(const GemmArgs& args, cudaStream_t stream); \
  }

HG_DECLARE_VERSION(v1)
HG_DECLARE_VERSION(v2)
HG_DECLARE_VERSION(v3)
HG_DECLARE_VERSION(v4)
HG_DECLARE_VERSION(v5)
HG_DECLARE_VERSION(v6)

#undef HG_DECLARE_VERSION

namespace hopper_gemm::ampere::v6 {

/// Every configuration that is compiled: for bf16 and fp16, and rows of A and B that start 16-byte aligned.
std::span<const TileConfig> configs();

/// launch() with the configuration given. InvalidArgument: it is none of configs(). Unsupported: the current device
/// has too little shared memory for it, or the rows of A and B are not 16-byte aligned.
Status launch_config(const TileConfig& config, const GemmArgs& args, cudaStream_t stream);

/// What launch() runs: how much of a row of A or B is copied at a time, and with which configuration.
struct Choice {
  TileConfig config;
  int copy_elems;  ///< 8, 2 or 1: the most that the alignment of all rows allows
};

/// launch()'s choice on a GPU with so many SMs, of which a CTA may have so many bytes of shared memory. None: that
/// is too little for every configuration.
std::optional<Choice> choose(const GemmArgs& args, int sm_count, int max_shared_bytes);

}  // namespace hopper_gemm::ampere::v6
