#pragma once

#include <cstddef>

#include "gemm/host/backend.hpp"
#include "gemm/host/footprint.hpp"
#include "hopper_gemm/gemm.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// A valid descriptor, and the problem that the kernels get.
class CheckedGemm {
 public:
  /// InvalidArgument: a field has a value that no GEMM can have; the message names it. Unsupported: the library does
  /// not multiply the input type, or operands span 2^63 bytes or more. On failure `*checked` does not change.
  static Status create(const GemmDescriptor& descriptor, const GemmOptions& options, CheckedGemm* checked);

  /// Whether D has no elements.
  bool empty() const;

  /// The problem for the back ends. Meaningless if empty().
  const Problem& problem() const { return problem_; }

  /// Whether problem() computes the transpose of D, because D is column-major.
  bool computes_transpose() const { return column_major_d_; }

  /// InvalidArgument: an operand is null, misaligned or too small, or overlaps another that it must not. It only
  /// compares numbers and reads no memory of the GPU.
  Status check(const GemmOperands& operands, std::size_t workspace_bytes) const;

  /// problem().args with the addresses of operands that check() accepts. Operands that the run does not read are null.
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
