#pragma once

#include <cuda_runtime_api.h>

#include "hopper_gemm/gemm_args.hpp"

// Every rung's two host functions; the kernels themselves are private to their files.
#define HG_DECLARE_VERSION(version)                         \
  namespace hopper_gemm::version {                          \
  Status can_implement(const GemmArgs& args);               \
  Status launch(const GemmArgs& args, cudaStream_t stream); \
  }

HG_DECLARE_VERSION(v01)
HG_DECLARE_VERSION(v02)
HG_DECLARE_VERSION(v03)
HG_DECLARE_VERSION(v04)
HG_DECLARE_VERSION(v05)
HG_DECLARE_VERSION(v06)
HG_DECLARE_VERSION(v07)
HG_DECLARE_VERSION(v08)
HG_DECLARE_VERSION(v09)
HG_DECLARE_VERSION(v10)
HG_DECLARE_VERSION(v11)

#undef HG_DECLARE_VERSION
