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

/// What `matmul` does on the emulator: verifies every version that was asked for at every shape, under as
/// many schedules as there are seeds.
///
/// As strictly as on a GPU: A, B and D have padded rows, the padding of A and B is NaN, D is poisoned with
/// NaN and guarded. Integer data must come out exactly; normal and uniform data within one rounding to its type
/// and what fp32 sums of K products may be off by. Everything, data included, follows from one seed, so that
/// one is enough to see a failure again.
class EmulatedRun {
 public:
  /// `reason`: why it runs here although it was not asked for, empty if it was.
  EmulatedRun(const Options& options, std::string reason, std::ostream& out, Progress& progress)
      : options_(options), reason_(std::move(reason)), out_(out), progress_(progress) {}

  /// Everything that can be said beforehand. `kernels`: the versions as they are compiled for the emulator.
  Status check(std::span<const KernelInfo> kernels);

  /// Ok even if kernels fail; an error is one of the machine.
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
