#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "benchmark/device_info.hpp"
#include "benchmark/nvml.hpp"
#include "benchmark/probe.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"
#include "registry/registry.hpp"
#include "verify/fill.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {

/// The versions that are not in the registry.
inline constexpr std::string_view kBaselineVersion = "0";
inline constexpr std::string_view kBaselineName = "cublas";
inline constexpr std::string_view kCeilingVersion = "ceiling";
inline constexpr std::string_view kCeilingName = "wgmma_ceiling";
inline constexpr std::string_view kCutlassVersion = "cutlass";
inline constexpr std::string_view kCutlassName = "cutlass";
/// Another build of the library, which runs beside version best.
inline constexpr std::string_view kAgainstVersion = "against";
inline constexpr std::string_view kAgainstName = "library";

/// A kernel of the registry, or one configuration of it, as a contestant.
struct SessionKernel {
  std::string version;
  std::string variant;  ///< which configuration; empty: there is only one
  std::function<Status(const GemmArgs&, cudaStream_t)> launch;
};

/// What a session measures of one problem: these kernels, the baseline, the ceiling if there is one, and CUTLASS if the
/// user asked for it.
struct SessionRequest {
  GemmProblem problem;
  DeviceInfo device;
  std::vector<SessionKernel> kernels;
  DataKind data = DataKind::Normal;
  std::uint64_t seed = 0;
  const Nvml* nvml = nullptr;  ///< nullptr: no clocks and no power
  bool cutlass = false;        ///< measure CUTLASS's configurations too, which must take the problem
  bool verify = true;          ///< leave wrong candidates of cublasLt out of the baseline
  bool baselines = true;       ///< measure cuBLAS and, where there is one, the ceiling
  int rest_ms = kBurstRestMs;  ///< before a burst
};

/// Whether the wgmma ceiling is the limit of kernels for this problem on this GPU.
bool has_ceiling(const GemmProblem& problem, const DeviceInfo& device);

/// Whether CUTLASS's configurations run on this GPU and take problems of these types and layouts.
bool suits_cutlass(const GemmProblem& problem, const DeviceInfo& device);

/// One contestant of a session. The baseline has two, which share its version; CUTLASS has one per configuration.
struct SessionContestant {
  std::string version;
  std::string variant;     ///< "cublasLt #3", SessionKernel's, or CutlassConfig's name
  double flops = 0;        ///< per launch
  bool verifiable = true;  ///< false for the ceiling, which computes no product
  std::string fault =
      {};  ///< a fault that opening the session found; the contestant is then neither verified nor measured
};

/// The result of verifying a contestant.
enum class Verdict {
  NotChecked,
  Verified,
  Wrong,
  Refused,  ///< it cannot run here, for example because the GPU has too little shared memory
};

struct ContestantVerdict {
  Verdict verdict = Verdict::NotChecked;
  std::string detail;  ///< one line that says what was wrong, or why it could not be checked
};

/// One problem on the device, with filled operands and its contestants.
class Session : public Sampler {
 public:
  virtual std::span<const SessionContestant> contestants() const = 0;
  /// Compares every verifiable contestant with the reference. Returns one verdict per contestant.
  virtual Status verify(std::vector<ContestantVerdict>* verdicts) = 0;
  /// Makes these contestants ready to be sampled. This runs each of them, so verify() comes before.
  virtual Status prepare(std::span<const std::size_t> contestants) = 0;
  /// Warms this contestant up as for a sample of `mode` and runs it once between the marks that profilers look for. It
  /// need not be prepared.
  virtual Status profile(std::size_t contestant, Mode mode) = 0;
};

/// The machine as `matmul` sees it. Behind this interface, tests can run the program on other machines than theirs:
/// without a GPU, with another GPU, or with an old driver.
class Platform {
 public:
  virtual ~Platform() = default;

  virtual std::span<const KernelInfo> kernels() = 0;
  /// The same versions for the emulator; none if the program has no emulator.
  virtual std::span<const KernelInfo> emulated_kernels() { return {}; }
  /// Whether the program was built with CUTLASS.
  virtual bool has_cutlass() { return false; }
  virtual Status query_device(DeviceInfo* device) = 0;
  virtual Status check_tensor_map_support() = 0;
  /// If this fails, the caller measures without clocks and power.
  virtual Status open_nvml(const DeviceInfo& device, std::unique_ptr<Nvml>* nvml) = 0;
  /// Bytes of GPU memory that a session takes, with or without verification.
  virtual std::int64_t required_bytes(const GemmProblem& problem, std::int64_t l2_bytes, bool verify) = 0;
  /// Measures the GPU itself. After an error, *report holds what was measured before the error. Unsupported: the GPU is
  /// older than sm_80.
  virtual Status probe(const ProbeRequest& request, ProbeReport* report) = 0;
  /// After an error, *session may hold what was opened before the error.
  virtual Status open_session(const SessionRequest& request, std::unique_ptr<Session>* session) = 0;
};

/// CUDA device 0 and the kernels of the registry.
class CudaPlatform : public Platform {
 public:
  std::span<const KernelInfo> kernels() override;
  bool has_cutlass() override;
  Status query_device(DeviceInfo* device) override;
  Status check_tensor_map_support() override;
  Status open_nvml(const DeviceInfo& device, std::unique_ptr<Nvml>* nvml) override;
  std::int64_t required_bytes(const GemmProblem& problem, std::int64_t l2_bytes, bool verify) override;
  Status probe(const ProbeRequest& request, ProbeReport* report) override;
  Status open_session(const SessionRequest& request, std::unique_ptr<Session>* session) override;
};

}  // namespace hopper_gemm
