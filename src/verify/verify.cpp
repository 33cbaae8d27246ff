#include "verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>

#include "common/device_buffer.hpp"
#include "common/matrix_lines.hpp"
#include "common/watchdog.hpp"
#include "registry/registry.hpp"
#include "verify/activation.cuh"
#include "verify/check.hpp"
#include "verify/cublas_gemm.hpp"
#include "verify/fill.hpp"
#include "verify/reference.hpp"

namespace hopper_gemm {
namespace {

constexpr int kNumRuns = 2;
// Rows of D's pitch that are guarded before and behind D. No tile extends past D's edge by more.
constexpr std::int64_t kGuardRows = 256;

constexpr int kUnitBytes = sizeof(std::uint16_t);  // of GuardedOutput
constexpr double kLargestNormal = 8;               // no element of C or the bias is larger, with a margin

/// Where an operand lies in its buffer.
struct Placement {
  MatrixLines matrix;
  std::int64_t ld;
  std::int64_t offset;  // of the first element
  std::int64_t elems;   // of the buffer
};

Placement place(MatrixLines matrix, int padding_units, const VerifyOptions& options) {
  const std::int64_t ld =
      padded_pitch(matrix.elems, options.padded ? padding_units : 0) + options.pitch_remainder;
  return {matrix, ld, options.offset, matrix.lines * ld + options.offset + kTmaAlignmentElems};
}

/// The placement of all operands of a verification. Their pitches differ, and D is guarded on all sides.
struct Placements {
  Placement a;
  Placement b;
  Placement c;
  Placement bias;
  Placement d;

  Placements(const GemmProblem& problem, const VerifyOptions& options)
      : a(place(lines_of_a(problem), 1, options)),
        b(place(lines_of_b(problem), 2, options)),
        c(place(lines_of_c(problem), 3, options)),
        bias(place(line_of_bias(problem), 1, options)),
        d(place(lines_of_d(problem), 1, options)) {
    d.offset += kGuardRows * d.ld;
    d.elems += 2 * kGuardRows * d.ld;
  }
};

/// The number of elements of the activation's input.
std::int64_t product_elems(const GemmProblem& problem) {
  const auto [lines, elems] = lines_of_c(problem);
  return lines * elems;
}

class Verification {
 public:
  Verification(const GemmProblem& problem, const VerifyOptions& options)
      : problem_(problem), options_(options), at_(problem, options) {}

  Status allocate() {
    const auto bytes_of = [](const Placement& operand, DataType type) {
      return operand.elems * size_of(type);
    };
    HG_RETURN_IF_ERROR(a_.allocate(bytes_of(at_.a, problem_.input_type)));
    HG_RETURN_IF_ERROR(b_.allocate(bytes_of(at_.b, problem_.input_type)));
    HG_RETURN_IF_ERROR(c_.allocate(problem_.beta == 0 ? 0 : bytes_of(at_.c, problem_.output_type)));
    HG_RETURN_IF_ERROR(bias_.allocate(bytes_of(at_.bias, problem_.output_type)));
    HG_RETURN_IF_ERROR(workspace_.allocate(kWorkspaceBytes));
    HG_RETURN_IF_ERROR(ref_.allocate(product_elems(problem_)));
    HG_RETURN_IF_ERROR(cublas_d_.allocate(ref_.size()));
    for (DeviceBuffer<std::uint16_t>& d : d_) {
      HG_RETURN_IF_ERROR(d.allocate(bytes_of(at_.d, problem_.output_type) / kUnitBytes));
    }
    return {};
  }

  // Fills the operands, computes the result in fp64, and sets the rule that results must keep.
  Status prepare(DataKind kind) {
    const double density = integer_density(problem_.shape.k);
    const bool uses_product = problem_.alpha != 0;
    HG_RETURN_IF_ERROR(fill(a_, at_.a, problem_.input_type, kind, density, 0, uses_product));
    HG_RETURN_IF_ERROR(fill(b_, at_.b, problem_.input_type, kind, density, 1, uses_product));
    if (problem_.beta != 0) {
      HG_RETURN_IF_ERROR(fill(c_, at_.c, problem_.output_type, kind, integer_density(1), 2, true));
    }
    if (problem_.bias != Bias::None) {
      HG_RETURN_IF_ERROR(fill(bias_, at_.bias, problem_.output_type, kind, integer_density(1), 3, true));
    }
    rule_ = CheckRule{};
    if (kind != DataKind::Integers) HG_RETURN_IF_ERROR(find_slack());
    if (kind != DataKind::Integers || !is_exact(problem_.activation)) rule_.kind = CheckRule::Kind::Bounded;
    HG_RETURN_IF_ERROR(reference_gemm_device(args_with_output(0), ref_.data(), kStream));
    return wait("the fp64 reference");
  }

  // An empty `wrong` means that the target passed.
  Status run(const VerifyTarget& target, std::string* wrong) {
    wrong->clear();
    for (int run = 0; run < kNumRuns; ++run) {
      HG_RETURN_IF_ERROR(poison_output(output(run), kStream));
      GemmArgs args = args_with_output(run);
      if (options_.in_place) {
        HG_RETURN_IF_ERROR(copy_c_to_d(args));
        args.c = args.d;
        args.ldc = args.ldd;
      }
      if (const Status status = target.launch(args, kStream); !status.ok()) {
        *wrong = status.message();
        return {};
      }
      HG_RETURN_IF_ERROR(wait(target.name));
      std::int64_t touched = 0;
      HG_RETURN_IF_ERROR(count_touched_guards(output(run), kStream, &touched));
      if (touched != 0) {
        *wrong = fmt::format("{} elements outside D were overwritten", touched);
        return {};
      }
    }
    const auto [lines, n] = lines_of_d(problem_);
    const GemmArgs args = args_with_output(0);
    const CheckOperands operands = {.d = args.d,
                                    .ldd = args.ldd,
                                    .ref = ref_.data(),
                                    .m = lines,
                                    .n = n,
                                    .type = args.output_type,
                                    .activation = problem_.activation,
                                    .gated = problem_.gated};
    CheckResult result;
    CheckRule rule = rule_;
    rule.rounds_before = target.rounds_before;
    rule.largest_bias = problem_.bias == Bias::None ? 0 : kLargestNormal;
    HG_RETURN_IF_ERROR(check_device(operands, rule, kStream, &result));
    if (!result.ok()) {
      *wrong = describe(result, lines, n);
      return {};
    }
    std::int64_t differences = 0;
    HG_RETURN_IF_ERROR(count_differences(output(0), output(1), kStream, &differences));
    if (differences != 0)
      *wrong = fmt::format("two runs on the same operands differ in {} units of 16 bits", differences);
    return {};
  }

 private:
  static constexpr cudaStream_t kStream = nullptr;

  static std::byte* first_of(const DeviceBuffer<std::byte>& buffer, const Placement& operand, DataType type) {
    return buffer.data() + operand.offset * size_of(type);
  }

  // used: false for an operand that is multiplied by zero. All of it becomes NaN.
  Status fill(const DeviceBuffer<std::byte>& buffer, const Placement& operand, DataType type, DataKind kind,
              double density, std::uint64_t number, bool used) const {
    return fill_matrix(first_of(buffer, operand, type), type, operand.matrix.lines,
                       used ? operand.matrix.elems : 0, operand.ld, kind, density, options_.seed * 3 + number,
                       kStream);
  }

  // Does nothing if beta is 0, or if the matrix has no elements.
  Status copy_c_to_d(const GemmArgs& args) const {
    if (args.beta == 0 || product_elems(problem_) == 0) return {};
    const auto bytes = [&](std::int64_t elems) {
      return static_cast<std::size_t>(elems * size_of(args.output_type));
    };
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpy2DAsync(
        args.d, bytes(args.ldd), args.c, bytes(args.ldc), bytes(args.shape.n),
        static_cast<std::size_t>(lines_of_d(problem_).lines), cudaMemcpyDeviceToDevice, kStream));
    return {};
  }

  GuardedOutput output(int run) const {
    const DeviceBuffer<std::uint16_t>& d = d_[static_cast<std::size_t>(run)];
    const std::int64_t units = size_of(problem_.output_type) / kUnitBytes;
    const auto [lines, elems] = lines_of_d(problem_);
    return {d.data(), d.size(), at_.d.offset * units, lines, elems * units, at_.d.ld * units};
  }

  GemmArgs args_with_output(int run) const {
    const GuardedOutput d = output(run);
    const bool has_c = problem_.beta != 0;
    GemmArgs args =
        args_of(problem_, first_of(a_, at_.a, problem_.input_type), at_.a.ld,
                first_of(b_, at_.b, problem_.input_type), at_.b.ld, d.allocation + d.offset, at_.d.ld,
                has_c ? first_of(c_, at_.c, problem_.output_type) : nullptr, at_.c.ld,
                problem_.bias != Bias::None ? first_of(bias_, at_.bias, problem_.output_type) : nullptr);
    args.workspace = workspace_.data();
    args.workspace_bytes = workspace_.size_bytes();
    return args;
  }

  Status wait(const std::string& what) const {
    const Status status = wait_with_watchdog(kStream, options_.timeout_seconds);
    if (status.ok()) return status;
    return {status.code(), what + ": " + status.message()};
  }

  // The slack of fp32 accumulation is twice the worst error of cuBLAS with fp32 output on these operands. That error
  // may be small by accident, so it counts as at least a few roundings of the largest result. cuBLAS may also be wrong:
  // version 13.1 leaves out the end of K at 128x128x11528 on an H100. So the error counts as no more than one rounding
  // for each step of K explains.
  //
  // Tensor cores add 16 products at a time. Sums of fp32 products are a random walk of K roundings, each of the sum so
  // far, however K is divided.
  Status find_slack() {
    constexpr double kFp32Rounding = 0x1p-23;
    const int k = problem_.shape.k;
    double largest = 0;
    double error = 0;
    if (problem_.alpha != 0 && k > 0 && product_elems(problem_) > 0) {
      GemmArgs product = args_with_output(0);
      product.alpha = 1;
      product.beta = 0;
      product.bias_kind = Bias::None;
      HG_RETURN_IF_ERROR(reference_gemm_device(product, ref_.data(), kStream));
      HG_RETURN_IF_ERROR(wait("the fp64 reference"));
      HG_RETURN_IF_ERROR(
          cublas_gemm_fp32(product, cublas_d_.data(), problem_.shape.n, options_.timeout_seconds, kStream));
      HG_RETURN_IF_ERROR(max_abs(ref_.data(), ref_.size(), kStream, &largest));
      HG_RETURN_IF_ERROR(max_abs_error(cublas_d_.data(), ref_.data(), ref_.size(), kStream, &error));
      const bool tensor_cores = problem_.input_type != DataType::Float32;
      const double credible_roundings = tensor_cores ? 4 : std::max(4.0, std::sqrt(k) / 4);
      const int steps = tensor_cores ? k / 16 : k;
      const double largest_credible = (steps + 4) * 2 * kFp32Rounding * largest;
      error = std::max(error, credible_roundings * kFp32Rounding * largest);
      if (!(error <= largest_credible)) error = largest_credible;
    }
    const double alpha = std::fabs(static_cast<double>(problem_.alpha));
    const double beta = std::fabs(static_cast<double>(problem_.beta));
    rule_.slack = 2 * alpha * error;
    const double bias = problem_.bias == Bias::None ? 0 : 1;
    if (problem_.alpha != 1 || problem_.beta != 0 || bias != 0) {
      rule_.slack += 2 * kFp32Rounding * (alpha * largest + (beta + bias) * kLargestNormal);
    }
    return {};
  }

  GemmProblem problem_;
  VerifyOptions options_;
  Placements at_;
  CheckRule rule_;
  DeviceBuffer<std::byte> a_;
  DeviceBuffer<std::byte> b_;
  DeviceBuffer<std::byte> c_;
  DeviceBuffer<std::byte> bias_;
  DeviceBuffer<std::byte> workspace_;
  DeviceBuffer<double> ref_;
  DeviceBuffer<float> cublas_d_;
  std::array<DeviceBuffer<std::uint16_t>, kNumRuns> d_;
};

Status verify_with(Verification& verification, std::span<const VerifyTarget> targets, bool integers_only,
                   std::vector<VerifyReport>* reports) {
  HG_RETURN_IF_ERROR(verification.allocate());
  std::vector<std::string> faults(targets.size());
  for (const DataKind kind : {DataKind::Integers, DataKind::Normal}) {
    if (kind == DataKind::Normal && integers_only) continue;
    HG_RETURN_IF_ERROR(verification.prepare(kind));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!faults[i].empty()) continue;
      std::string wrong;
      HG_RETURN_IF_ERROR(verification.run(targets[i], &wrong));
      if (wrong.empty()) continue;
      faults[i] = fmt::format("{} data: {}", kind == DataKind::Integers ? "integer" : "normal", wrong);
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) (*reports)[i] = {faults[i].empty(), faults[i]};
  return {};
}

}  // namespace

std::string describe(const CheckResult& result, std::int64_t rows, std::int64_t columns) {
  return fmt::format("{} of {} elements are wrong ({} NaN); the first, D[{}, {}], is {} and should be {}",
                     result.wrong, rows * columns, result.nans, result.first_wrong_index / columns,
                     result.first_wrong_index % columns, result.first_wrong_value,
                     result.first_wrong_reference);
}

std::int64_t verify_required_bytes(const GemmProblem& problem) {
  const Placements at(problem, {});
  const std::int64_t inputs = (at.a.elems + at.b.elems) * size_of(problem.input_type);
  const std::int64_t c = problem.beta == 0 ? 0 : at.c.elems * size_of(problem.output_type);
  const std::int64_t bias = at.bias.elems * size_of(problem.output_type);
  const std::int64_t outputs = kNumRuns * at.d.elems * size_of(problem.output_type);
  return inputs + c + bias + outputs + std::int64_t{kWorkspaceBytes} +
         product_elems(problem) * std::int64_t{sizeof(double) + sizeof(float)};
}

Status verify_targets(const GemmProblem& problem, std::span<const VerifyTarget> targets,
                      const VerifyOptions& options, std::vector<VerifyReport>* reports) {
  reports->assign(targets.size(), {.verified = false, .detail = "verification did not finish"});
  auto verification = std::make_unique<Verification>(problem, options);
  const Status status = verify_with(*verification, targets, options.integers_only, reports);
  // Freeing GPU memory waits for the kernels that may use it: for one that hangs, forever.
  if (status.code() == StatusCode::Timeout) static_cast<void>(verification.release());
  return status;
}

}  // namespace hopper_gemm
