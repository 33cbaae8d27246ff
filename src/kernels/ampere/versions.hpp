#pragma once

#include <cuda_runtime_api.h>

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

#undef HG_DECLARE_VERSION
