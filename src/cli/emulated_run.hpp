#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <utility>

#include "cli/options.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/refusal.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {

/// The emulator's part of `matmul`. It verifies every version at every shape that the user asked for, with one schedule
/// for each seed.
///
/// It is as strict as on a GPU: A, B and D have padded rows, the padding of A and B is NaN, and D is poisoned with NaN
/// and guarded. The results of integer data must be exact. The results of normal and uniform data may be off by one
/// rounding to their type and by the error of an fp32 sum of K products. One seed determines everything, data included,
/// so one seed is enough to repeat a failure.
class EmulatedRun {
 public:
  /// `reason`: why this runs on the emulator although the user did not ask for it. Empty if the user did.
  EmulatedRun(const Options& options, std::string reason, std::ostream& out, Progress& progress)
      : options_(options), reason_(std::move(reason)), out_(out), progress_(progress) {}

  /// Checks everything that needs no run. `kernels`: the versions as they are compiled for the emulator.
  Status check(std::span<const KernelInfo> kernels);

  /// Ok even if kernels fail. An error comes from the machine.
  Status verify();

  bool any_kernel_failed() const { return any_kernel_failed_; }

 private:
  class Operands;
  struct Outcome;

  int num_seeds() const;
  std::span<const GemmShape> shapes_of(const KernelGroup& group) const;
  std::uint64_t seed_at(int i) const;
  DataKind data_of(std::uint64_t seed) const;
  Status check_arguments() const;
  Status check_trace();
  std::string header() const;
  Status verify_group(const KernelGroup& group);
  Outcome verify_kernel(const KernelInfo& kernel, Operands& operands);
  std::string run_once(const KernelInfo& kernel, Operands& operands, std::uint64_t seed, Outcome* outcome);
  void print(const KernelInfo& kernel, const GemmShape& shape, const Outcome& outcome);

  Options options_;  // its kernels are the emulator's
  std::string reason_;
  std::ostream& out_;
  Progress& progress_;
  OutputFile trace_file_;
  bool any_kernel_failed_ = false;
};

}  // namespace hopper_gemm
