#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <vector>

#include "common/gemm_args.hpp"
#include "registry/registry.hpp"

// The registry's version `best`: the library (gemm.hpp). The library does not multiply fp32 inputs; for them `best` is
// the last version of the SIMT ladder.
namespace hopper_gemm::best {

/// Ok if the library supports `args` on some GPU.
Status can_implement(const GemmArgs& args);

/// Runs a GemmPlan of `args`. Each thread keeps its last plan, so that a repeated problem is planned once.
Status launch(const GemmArgs& args, cudaStream_t stream);

/// GemmPlan::config() and GemmPlan::explain().
Status choose(const GemmArgs& args, KernelChoice* choice);

/// The files that HGEMM_TUNING_FILE and HGEMM_PROBE_FILE name.
std::span<const MeasurementFile> files();

// The tuning space: the names that GemmPlan takes. configs() returns those with the shortest estimated times, which are
// worth measuring.
std::vector<std::string> configs(const GemmArgs& args);
bool has_config(const std::string& config);
Status launch_config(const std::string& config, const GemmArgs& args, cudaStream_t stream);

}  // namespace hopper_gemm::best
