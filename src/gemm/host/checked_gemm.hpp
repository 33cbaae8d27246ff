#pragma once

#include <cstddef>

#include "gemm/host/backend.hpp"
#include "gemm/host/footprint.hpp"
#include "hopper_gemm/gemm.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// A descriptor that a GEMM can have, and what it comes to for the kernels.
class CheckedGemm {
 public:
  /// InvalidArgument: names the field that no GEMM can have. Unsupported: inputs of a type that the library does not
  /// multiply, operands that span 2^63 bytes or more. On failure `*checked` stays what it was.
  static Status create(const GemmDescriptor& descriptor, const GemmOptions& options, CheckedGemm* checked);

  /// There is no element of D.
  bool empty() const;

  /// For the back ends. Meaningless if empty().
  const Problem& problem() const { return problem_; }

  /// problem() has D's transpose: D is column-major.
  bool computes_transpose() const { return column_major_d_; }

  /// What no run can take, whether it is null, misaligned, too small or where it must not be. Compares numbers and
  /// nothing else.
  Status check(const GemmOperands& operands, std::size_t workspace_bytes) const;

  /// problem().args with the addresses of operands that check() accepts. Those that are not read are null.
  KernelArgs with_addresses(const GemmOperands& operands) const;

 private:
  struct Operand {
    Footprint footprint;
    int alignment_bytes = 1;
  };

  Problem problem_{};
  bool column_major_d_ = false;
  bool c_has_order_of_d_ = true;
  bool c_may_be_d_ = false;
  Operand a_;
  Operand b_;
  Operand c_;
  Operand d_;
  Operand aux_;
  Operand bias_;
};

}  // namespace hopper_gemm::library
