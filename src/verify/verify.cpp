#include "verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "benchmark/cublas_gemm.hpp"
#include "device_buffer.hpp"
#include "hopper_gemm/ceil_div.hpp"
#include "verify/check.hpp"
#include "verify/fill.hpp"
#include "verify/reference.hpp"
#include "watchdog.hpp"

namespace hopper_gemm {
namespace {

constexpr int kNumRuns = 2;
// Rows of D's pitch that are guarded before and behind D: more than the tallest tile reaches beyond it.
constexpr std::int64_t kGuardRows = 256;

// Row pitches that TMA accepts, that leave padding behind every row, and that differ from operand to operand.
std::int64_t padded_pitch(std::int64_t row_elems, int padding_units) {
  const std::int64_t units = ceil_div(row_elems, std::int64_t{kTmaAlignmentElems});
  return (units + padding_units) * kTmaAlignmentElems;
}
std::int64_t lda_of(const GemmShape& shape) { return padded_pitch(shape.k, 1); }
std::int64_t ldb_of(const GemmShape& shape) { return padded_pitch(shape.k, 2); }
std::int64_t ldd_of(const GemmShape& shape) { return padded_pitch(shape.n, 1); }

std::int64_t guard_elems(const GemmShape& shape) { return kGuardRows * ldd_of(shape); }

std::int64_t output_allocation_elems(const GemmShape& shape) {
  return shape.m * ldd_of(shape) + 2 * guard_elems(shape);
}

std::string describe(const CheckResult& result, const GemmShape& shape) {
  return fmt::format("{} of {} elements are wrong ({} NaN); the first, D[{}, {}], is {} and should be {}",
                     result.wrong, std::int64_t{shape.m} * shape.n, result.nans,
                     result.first_wrong_index / shape.n, result.first_wrong_index % shape.n,
                     result.first_wrong_value, result.first_wrong_reference);
}

class Verification {
 public:
  Verification(const GemmShape& shape, const VerifyOptions& options) : shape_(shape), options_(options) {}

  Status allocate() {
    HG_RETURN_IF_ERROR(a_.allocate(shape_.m * lda_of(shape_)));
    HG_RETURN_IF_ERROR(b_.allocate(shape_.n * ldb_of(shape_)));
    HG_RETURN_IF_ERROR(ref_.allocate(std::int64_t{shape_.m} * shape_.n));
    HG_RETURN_IF_ERROR(cublas_d_.allocate(ref_.size()));
    for (DeviceBuffer<std::uint16_t>& d : d_) HG_RETURN_IF_ERROR(d.allocate(output_allocation_elems(shape_)));
    return {};
  }

  // Fills A and B, computes their product in fp64 and sets the rule that results must keep.
  Status prepare(DataKind kind) {
    const GemmArgs args = args_with_output(0);
    HG_RETURN_IF_ERROR(
        fill_matrix(a_.data(), shape_.m, shape_.k, args.lda, kind, options_.seed * 2, kStream));
    HG_RETURN_IF_ERROR(
        fill_matrix(b_.data(), shape_.n, shape_.k, args.ldb, kind, options_.seed * 2 + 1, kStream));
    HG_RETURN_IF_ERROR(reference_gemm_device(args, ref_.data(), kStream));
    rule_ = CheckRule{};
    HG_RETURN_IF_ERROR(wait("the fp64 reference"));
    if (kind == DataKind::Integers) return {};
    rule_.kind = CheckRule::Kind::Bounded;
    return find_slack(args);
  }

  // An empty `wrong` means that the target passed.
  Status run(const VerifyTarget& target, std::string* wrong) {
    wrong->clear();
    for (int run = 0; run < kNumRuns; ++run) {
      HG_RETURN_IF_ERROR(poison_output(output(run), kStream));
      if (const Status status = target.launch(args_with_output(run), kStream); !status.ok()) {
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
    const GemmArgs args = args_with_output(0);
    const CheckOperands operands = {args.d, args.ldd, ref_.data(), shape_.m, shape_.n};
    CheckResult result;
    HG_RETURN_IF_ERROR(check_device(operands, rule_, kStream, &result));
    if (!result.ok()) {
      *wrong = describe(result, shape_);
      return {};
    }
    std::int64_t differences = 0;
    HG_RETURN_IF_ERROR(count_differences(output(0), output(1), kStream, &differences));
    if (differences != 0)
      *wrong = fmt::format("two runs on the same operands differ in {} elements", differences);
    return {};
  }

 private:
  static constexpr cudaStream_t kStream = nullptr;

  GuardedOutput output(int run) const {
    const DeviceBuffer<std::uint16_t>& d = d_[static_cast<std::size_t>(run)];
    return {d.data(), d.size(), guard_elems(shape_), shape_.m, shape_.n, ldd_of(shape_)};
  }

  GemmArgs args_with_output(int run) const {
    const GuardedOutput d = output(run);
    return {shape_,    a_.data(),      lda_of(shape_),
            b_.data(), ldb_of(shape_), std::bit_cast<__nv_bfloat16*>(d.allocation + d.offset),
            d.ldd};
  }

  Status wait(const std::string& what) const {
    const Status status = wait_with_watchdog(kStream, options_.timeout_seconds);
    if (status.ok()) return status;
    return {status.code(), what + ": " + status.message()};
  }

  // The slack of fp32 accumulation: twice the worst error of cuBLAS with fp32 output on these operands. Its
  // own error may be accidentally zero on a few elements, so it counts as at least a few roundings of the
  // largest result; and a cuBLAS that is further off than one rounding per wgmma K step is itself wrong, and
  // no measure.
  Status find_slack(const GemmArgs& args) {
    double largest = 0;
    double cublas_error = 0;
    HG_RETURN_IF_ERROR(cublas_gemm_fp32(args, cublas_d_.data(), shape_.n, options_.timeout_seconds, kStream));
    HG_RETURN_IF_ERROR(max_abs(ref_.data(), ref_.size(), kStream, &largest));
    HG_RETURN_IF_ERROR(max_abs_error(cublas_d_.data(), ref_.data(), ref_.size(), kStream, &cublas_error));
    constexpr double kFp32Rounding = 0x1p-23;
    const double smallest_credible = 4 * kFp32Rounding * largest;
    const int wgmma_steps = shape_.k / 16;
    const double largest_credible = (wgmma_steps + 4) * 2 * kFp32Rounding * largest;
    if (!(cublas_error <= largest_credible)) {
      return {StatusCode::CudaError,
              fmt::format(
                  "cuBLAS with fp32 output is off by {} from the fp64 reference, more than the {} that fp32 "
                  "accumulation explains: nothing can be verified against it",
                  cublas_error, largest_credible)};
    }
    rule_.slack = 2 * std::max(cublas_error, smallest_credible);
    return {};
  }

  GemmShape shape_;
  VerifyOptions options_;
  CheckRule rule_;
  DeviceBuffer<__nv_bfloat16> a_;
  DeviceBuffer<__nv_bfloat16> b_;
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

std::int64_t verify_required_bytes(const GemmShape& shape) {
  const std::int64_t operands = (shape.m * lda_of(shape) + shape.n * ldb_of(shape)) * 2;
  const std::int64_t outputs = kNumRuns * output_allocation_elems(shape) * 2;
  const std::int64_t references = std::int64_t{shape.m} * shape.n * (sizeof(double) + sizeof(float));
  return operands + outputs + references;
}

Status verify_targets(const GemmShape& shape, std::span<const VerifyTarget> targets,
                      const VerifyOptions& options, std::vector<VerifyReport>* reports) {
  reports->assign(targets.size(), {.verified = false, .detail = "verification did not come to an end"});
  auto verification = std::make_unique<Verification>(shape, options);
  const Status status = verify_with(*verification, targets, options.integers_only, reports);
  // Freeing GPU memory waits for the kernels that may use it: for one that hangs, forever.
  if (status.code() == StatusCode::Timeout) static_cast<void>(verification.release());
  return status;
}

}  // namespace hopper_gemm
