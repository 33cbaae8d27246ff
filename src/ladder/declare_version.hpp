#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "common/gemm_args.hpp"
#include "common/tile_config.hpp"

// What registry.cpp needs of a version, by its namespace: its two host functions. The kernels themselves are private to
// their files.
#define HG_DECLARE_VERSION(version)                         \
  namespace version {                                       \
  Status can_implement(const GemmArgs& args);               \
  Status launch(const GemmArgs& args, cudaStream_t stream); \
  }

// The same of one that is compiled for several configurations, see TuningSpace. `launch` chooses among them.
#define HG_DECLARE_TUNABLE_VERSION(version)                                                  \
  HG_DECLARE_VERSION(version)                                                                \
  namespace version {                                                                        \
  std::span<const TileConfig> configs();                                                     \
  Status launch_config(const TileConfig& config, const GemmArgs& args, cudaStream_t stream); \
  }
