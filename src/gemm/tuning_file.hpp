#pragma once

#include <memory>
#include <string>

#include "gemm/heuristics/loaded_tuning.hpp"
#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Reads a file that `matmul tune best --json` wrote. Needs no GPU. It skips entries for versions other than the library
/// and for types that the library does not multiply.
///
/// InvalidArgument: the file cannot be read, or has a fault. Unsupported: it has another version of the format. The
/// message names the file and the fault. On failure `*table` does not change.
Status read_tuning_file(const std::string& path, std::shared_ptr<const TuningTable>* table);

/// Unsupported: the table is for another GPU than `device`.
Status check_tuning_device(const TuningTable& table, const Device& device);

/// EnvironmentFile::use() for the environment variable HGEMM_TUNING_FILE.
Status use_environment_tuning(const Device& device);

}  // namespace hopper_gemm::library
