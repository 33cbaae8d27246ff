#pragma once

#include <memory>
#include <string>

#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Reads a file that `matmul probe --json` wrote. Needs no GPU.
///
/// InvalidArgument: the file cannot be read, or has a fault. Unsupported: it has another version of the format. The
/// message names the file and the fault. On failure `*rates` does not change.
Status read_probe_file(const std::string& path, std::shared_ptr<const ProbedRates>* rates);

/// Unsupported: the file was measured on another GPU than `device`.
Status check_probe_device(const ProbedRates& rates, const Device& device);

/// EnvironmentFile::use() for the environment variable HGEMM_PROBE_FILE.
Status use_environment_probe(const Device& device);

}  // namespace hopper_gemm::library
