#pragma once

#include <optional>

#include "ladder/declare_version.hpp"

namespace hopper_gemm::ampere {

HG_DECLARE_VERSION(v1)
HG_DECLARE_VERSION(v2)
HG_DECLARE_VERSION(v3)
HG_DECLARE_VERSION(v4)
HG_DECLARE_VERSION(v5)
HG_DECLARE_TUNABLE_VERSION(v6)

namespace v6 {

/// What launch() runs: how much of a row of A or B is copied at a time, and with which configuration.
struct Choice {
  TileConfig config;
  int copy_elems;  ///< 8, 2 or 1: the most that the alignment of all rows allows
};

/// launch()'s choice on a GPU with so many SMs, of which a CTA may have so many bytes of shared memory. None: that
/// is too little for every configuration.
std::optional<Choice> choose(const GemmArgs& args, int sm_count, int max_shared_bytes);

}  // namespace v6

}  // namespace hopper_gemm::ampere
