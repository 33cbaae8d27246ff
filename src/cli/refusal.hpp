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

/// Operands for can_implement, which looks at their values only. Their addresses are aligned, but point to no matrices.
GemmArgs placeholder_args(const GemmProblem& problem);

/// Ok if `kernel` can take `problem`; otherwise the reason, and what to type instead.
Status kernel_refusal(const KernelInfo& kernel, const GemmProblem& problem);

/// The library's environment variable that names the configuration that version best runs.
inline constexpr const char* kConfigVariable = "HGEMM_CONFIG";
/// The beginning of a command that repeats a run: "HGEMM_CONFIG=<value> " if the variable is set and `kernel` uses it, and
/// the same for the files that it reads.
std::string environment_of(const KernelInfo& kernel);
/// Ok unless one of these kernels uses the variable and has no configuration of that name.
Status check_environment(std::span<const KernelInfo* const> kernels);
/// Ok unless one of these kernels reads a file that the environment names, and cannot use it on this GPU. tunes: only
/// files that decide which configurations are measured.
Status check_files(std::span<const KernelInfo* const> kernels, bool tunes);

/// Ok if `kernel` can run on this GPU; otherwise the reason.
Status gpu_refusal(const KernelInfo& kernel, const DeviceInfo& device);

/// Says why host memory may have run out, and what to do about it. Allocates little.
std::string out_of_host_memory_text();

/// The finding of a refusal, without its advice.
std::string finding_of(const Status& refusal);

/// Ok if CUTLASS's configurations can take `problem`; otherwise the reason.
Status cutlass_refusal(const GemmProblem& problem);

/// The shapes that the user asked for with this operation; if there are none, the default shape for `type`.
std::vector<GemmShape> shapes_of(const Options& options, const Operation& operation, DataType type);

/// Ok if a kernel can run at one of the shapes, or if the user named no kernel; otherwise why the first kernel cannot.
Status check_any_can_run(const Options& options);

/// Kernels that multiply the same types and layouts, so that they can share operands.
struct KernelGroup {
  GemmProblem problem;  ///< without a shape
  std::vector<const KernelInfo*> kernels;
  std::vector<GemmShape> shapes;  ///< that the user asked for
};

/// Groups the kernels that the user asked for, in the order of their first members. If the user named no kernel, one
/// group without kernels stands for cuBLAS alone.
std::vector<KernelGroup> group_kernels(const Options& options);

}  // namespace hopper_gemm
