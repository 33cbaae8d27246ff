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
/// Another build of the library, beside version best.
inline constexpr std::string_view kAgainstVersion = "against";
inline constexpr std::string_view kAgainstName = "library";

/// A kernel of the registry, or one configuration of it, as a contestant.
struct SessionKernel {
  std::string version;
  std::string variant;  ///< which configuration; empty: there is one
  std::function<Status(const GemmArgs&, cudaStream_t)> launch;
};

/// What is measured of one problem: these kernels, always the baseline, the ceiling where there is one, and CUTLASS
/// where it is asked for.
struct SessionRequest {
  GemmProblem problem;
  DeviceInfo device;
  std::vector<SessionKernel> kernels;
  DataKind data = DataKind::Normal;
  std::uint64_t seed = 0;
  const Nvml* nvml = nullptr;  ///< nullptr: no clocks and no power
  bool cutlass = false;        ///< with its configurations, which must take the problem
  bool verify = true;          ///< no candidate of cublasLt that is wrong may be the baseline
};

/// Whether the wgmma ceiling says anything about kernels for this problem on this GPU.
bool has_ceiling(const GemmProblem& problem, const DeviceInfo& device);

/// Whether CUTLASS's configurations are kernels for this GPU, and for problems of these types and layouts.
bool suits_cutlass(const GemmProblem& problem, const DeviceInfo& device);

/// One contestant of a session. The baseline has two, which share its version; CUTLASS has one per configuration.
struct SessionContestant {
  std::string version;
  std::string variant;     ///< "cublasLt #3", SessionKernel's, or CutlassConfig's name
  double flops = 0;        ///< per launch
  bool verifiable = true;  ///< false for the ceiling, which computes no product
  std::string fault = {};  ///< what opening the session found wrong; it is verified no more, and not measured
};

/// What verification made of a contestant.
enum class Verdict {
  NotChecked,
  Verified,
  Wrong,
  Refused,  ///< it does not run here: the GPU has too little shared memory for it, say
};

struct ContestantVerdict {
  Verdict verdict = Verdict::NotChecked;
  std::string detail;  ///< one line: what was wrong, or why it could not be checked
};

/// One problem made ready on the device: operands filled, contestants at hand.
class Session : public Sampler {
 public:
  virtual std::span<const SessionContestant> contestants() const = 0;
  /// Holds every verifiable contestant against the reference: one verdict per contestant.
  virtual Status verify(std::vector<ContestantVerdict>* verdicts) = 0;
  /// Makes these contestants ready to be sampled, which runs each of them: after verification.
  virtual Status prepare(std::span<const std::size_t> contestants) = 0;
  /// Runs this contestant, which need not be prepared, once between the marks that profilers look for, warmed up as for
  /// a sample of `mode`.
  virtual Status profile(std::size_t contestant, Mode mode) = 0;
};

/// The machine as `matmul` sees it, behind an interface so that tests can run the program on machines that
/// they do not have: without a GPU, with another one, with an old driver.
class Platform {
 public:
  virtual ~Platform() = default;

  virtual std::span<const KernelInfo> kernels() = 0;
  /// The same versions as they run on the emulator; none where the program has no emulator.
  virtual std::span<const KernelInfo> emulated_kernels() { return {}; }
  /// Whether the program was built with CUTLASS.
  virtual bool has_cutlass() { return false; }
  virtual Status query_device(DeviceInfo* device) = 0;
  virtual Status check_tensor_map_support() = 0;
  /// A machine without NVML is no error to the caller: it measures without clocks and power.
  virtual Status open_nvml(const DeviceInfo& device, std::unique_ptr<Nvml>* nvml) = 0;
  /// Bytes of GPU memory that a session takes, with or without verification.
  virtual std::int64_t required_bytes(const GemmProblem& problem, std::int64_t l2_bytes, bool verify) = 0;
  /// On an error *session may hold what was opened before it.
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
  Status open_session(const SessionRequest& request, std::unique_ptr<Session>* session) override;
};

}  // namespace hopper_gemm
