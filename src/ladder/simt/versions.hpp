#pragma once

#include "ladder/declare_version.hpp"

namespace hopper_gemm::simt {

HG_DECLARE_VERSION(v1)
HG_DECLARE_VERSION(v2)
HG_DECLARE_VERSION(v3)
HG_DECLARE_VERSION(v4)
HG_DECLARE_VERSION(v5)
HG_DECLARE_VERSION(v6)
HG_DECLARE_TUNABLE_VERSION(v7)
HG_DECLARE_TUNABLE_VERSION(v8)

}  // namespace hopper_gemm::simt
