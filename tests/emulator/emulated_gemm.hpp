#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hopper_gemm/gemm_args.hpp"
#include "hopper_gemm/gemm_shape.hpp"

namespace hopper_gemm::emulator {

/// Operands of one shape in the emulated GPU's memory, of integers so small that every sum is exact, and their
/// product. Around them lies what a kernel must not use: NaN behind the rows of A and B and below them, a
/// pattern behind those of D and below. One at a time: it frees all that the emulated GPU had allocated.
class EmulatedGemm {
 public:
  explicit EmulatedGemm(GemmShape shape);

  const GemmArgs& args() const { return args_; }
  /// Overwrites D with the pattern.
  void poison();
  /// What is wrong with D, or nothing: "wrong product at [3, 4]: ..." or "wrote outside of D at [3, 40]: ...".
  std::string fault() const;

 private:
  GemmArgs args_;
  std::size_t d_elems_;
  std::vector<std::uint16_t> product_;  // [M, N], bf16
};

/// "129x257x264"
std::string to_string(GemmShape shape);

}  // namespace hopper_gemm::emulator
