#pragma once

#include <span>
#include <string>
#include <vector>

#include "benchmark/device_info.hpp"
#include "cli/options.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {

/// Operands that can_implement may look at: their addresses are aligned, and nothing is read through them.
GemmArgs placeholder_args(const GemmProblem& problem);

/// Ok, or why `kernel` cannot take `problem`, and what to type instead.
Status kernel_refusal(const KernelInfo& kernel, const GemmProblem& problem);

/// The library's environment variable, which names the configuration that version best runs.
inline constexpr const char* kConfigVariable = "HGEMM_CONFIG";
/// "HGEMM_CONFIG=<value> " where that is set and means something to `kernel`: how a command that repeats a run begins.
std::string environment_of(const KernelInfo& kernel);
/// Ok, or that one of these kernels is to run by a configuration that there is not, as the variable has it.
Status check_environment(std::span<const KernelInfo* const> kernels);

/// Ok, or why `kernel` cannot run on this GPU.
Status gpu_refusal(const KernelInfo& kernel, const DeviceInfo& device);

/// Why host memory may have run out, and what to do about it. Allocates little.
std::string out_of_host_memory_text();

/// What a refusal found, without its advice.
std::string finding_of(const Status& refusal);

/// Ok, or why CUTLASS's configurations cannot take `problem`.
Status cutlass_refusal(const GemmProblem& problem);

/// The shapes at which that operation was asked for, or else the one that kernels for `type` are measured at.
std::vector<GemmShape> shapes_of(const Options& options, const Operation& operation, DataType type);

/// Ok unless kernels were asked for of which none can run at any of the shapes; then why the first cannot.
Status check_any_can_run(const Options& options);

/// Kernels that multiply the same types and layouts, and so the same operands.
struct KernelGroup {
  GemmProblem problem;  ///< without a shape
  std::vector<const KernelInfo*> kernels;
  std::vector<GemmShape> shapes;  ///< at which they were asked for
};

/// The kernels that were asked for, in groups in the order of their first members. One without kernels where none
/// were asked for: cuBLAS alone.
std::vector<KernelGroup> group_kernels(const Options& options);

}  // namespace hopper_gemm
