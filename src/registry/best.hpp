#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "common/gemm_args.hpp"
#include "registry/registry.hpp"

// What the registry calls `best`: the library (gemm.hpp), and for inputs of fp32, which it does not multiply,
// the last of the simt ladder.
namespace hopper_gemm::best {

/// Ok if the library takes `args` on some GPU.
Status can_implement(const GemmArgs& args);

/// Runs a GemmPlan of `args`. The thread keeps its last one, so that a problem that comes again is planned once.
Status launch(const GemmArgs& args, cudaStream_t stream);

/// GemmPlan::config() and GemmPlan::explain().
Status choose(const GemmArgs& args, KernelChoice* choice);

// The tuning space: the names that GemmPlan takes, of which those with the smallest estimated times are worth
// measuring.
std::vector<std::string> configs(const GemmArgs& args);
bool has_config(const std::string& config);
Status launch_config(const std::string& config, const GemmArgs& args, cudaStream_t stream);

}  // namespace hopper_gemm::best
