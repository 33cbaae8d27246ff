#include "benchmark/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "benchmark/cublas_baseline.hpp"
#include "benchmark/cuda_stream.hpp"
#include "benchmark/cutlass_baseline.hpp"
#include "benchmark/elementwise_epilogue.hpp"
#include "benchmark/gpu_probe.hpp"
#include "benchmark/gpu_sampler.hpp"
#include "benchmark/operand_buffers.hpp"
#include "benchmark/operation.hpp"
#include "benchmark/shapes.hpp"
#include "common/cuda_check.hpp"
#include "common/device_buffer.hpp"
#include "common/matrix_lines.hpp"
#include "common/watchdog.hpp"
#include "device/tensor_map.hpp"
#include "ladder/hopper/wgmma_ceiling.hpp"
#include "verify/cublas_gemm.hpp"

namespace hopper_gemm {
namespace {

// The memory beside the operands: three cuBLAS workspaces (cublasGemmEx, cublasLt, verification), the ceiling's sink,
// and the graphs.
constexpr std::int64_t kOverheadBytes = std::int64_t{256} << 20;

class CudaSession : public Session {
 public:
  explicit CudaSession(const SessionRequest& request) : request_(request) {}

  Status open() {
    HG_RETURN_IF_ERROR(stream_.create());
    HG_RETURN_IF_ERROR(OperandBuffers::allocate(request_.problem, request_.device.l2_bytes, request_.data,
                                                request_.seed, stream_.get(), &buffers_));
    HG_RETURN_IF_ERROR(wait_with_watchdog(stream_.get(), hang_timeout_seconds(flops(), 1)));
    sampler_.emplace(buffers_.sets(), stream_.get(), request_.nvml, request_.rest_ms);
    if (request_.baselines) HG_RETURN_IF_ERROR(add_baseline());
    for (const SessionKernel& kernel : request_.kernels) {
      add({.version = kernel.version, .variant = kernel.variant, .flops = flops()}, kernel.launch);
    }
    if (request_.cutlass) HG_RETURN_IF_ERROR(add_cutlass());
    const bool shows_ceiling = request_.baselines && has_ceiling(request_.problem, request_.device);
    return shows_ceiling ? add_ceiling() : Status();
  }

  std::span<const SessionContestant> contestants() const override { return contestants_; }

  Status verify(std::vector<ContestantVerdict>* verdicts) override {
    std::vector<VerifyTarget> targets;
    std::vector<std::size_t> indices;
    std::vector<bool> refused(contestants_.size());
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      if (!contestants_[i].verifiable || !contestants_[i].fault.empty()) continue;
      indices.push_back(i);
      targets.push_back(
          {display_name(i),
           [this, i, &refused](const GemmArgs& args, cudaStream_t stream) {
             Status status = launches_[i](args, stream);
             refused[i] = status.code() == StatusCode::Unsupported;
             return status;
           },
           contestants_[i].version == kBaselineVersion && !is_fused_by_cublas(request_.problem)});
    }
    const double timeout_seconds = hang_timeout_seconds(flops(), 1);
    std::vector<VerifyReport> reports;
    HG_RETURN_IF_ERROR(verify_targets(request_.problem, targets,
                                      {.seed = request_.seed, .timeout_seconds = timeout_seconds}, &reports));
    verdicts->assign(contestants_.size(), {});
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      if (!contestants_[i].fault.empty()) (*verdicts)[i] = {Verdict::Wrong, contestants_[i].fault};
    }
    for (std::size_t j = 0; j < indices.size(); ++j) {
      const std::size_t i = indices[j];
      (*verdicts)[i] = {reports[j].verified ? Verdict::Verified : Verdict::Wrong, reports[j].detail};
      if (!refused[i]) continue;
      // Verification pads rows further than the benchmark does. A cublasLt algorithm that was chosen for the
      // benchmark's pitches may refuse those. It is then neither wrong nor unfit as the baseline.
      const bool is_baseline = contestants_[i].version == kBaselineVersion;
      (*verdicts)[i].verdict = is_baseline ? Verdict::NotChecked : Verdict::Refused;
    }
    return {};
  }

  Status prepare(std::span<const std::size_t> contestants) override {
    sampler_numbers_.assign(contestants_.size(), 0);
    for (std::size_t position = 0; position < contestants.size(); ++position) {
      const std::size_t i = contestants[position];
      HG_RETURN_IF_ERROR(of_contestant(i, sampler_->add(launches_[i])));
      sampler_numbers_[i] = position;
    }
    return {};
  }

  Status sample(std::size_t contestant, Mode mode, Sample* sample) override {
    return of_contestant(contestant, sampler_->sample(sampler_numbers_[contestant], mode, sample));
  }

  Status profile(std::size_t contestant, Mode mode) override {
    return of_contestant(contestant, sampler_->profile(launches_[contestant], mode));
  }

 private:
  void add(SessionContestant contestant, Launch launch) {
    contestants_.push_back(std::move(contestant));
    launches_.push_back(std::move(launch));
  }

  /// Adds whose error it is, and at which shape.
  Status of_contestant(std::size_t i, const Status& status) const {
    if (status.ok()) return status;
    return {status.code(), fmt::format("{} at {}: {}", display_name(i), to_string(request_.problem.shape),
                                       status.message())};
  }

  std::string display_name(std::size_t i) const {
    const SessionContestant& contestant = contestants_[i];
    if (contestant.version == kBaselineVersion) return contestant.variant;
    if (contestant.version == kCutlassVersion) return "CUTLASS's " + contestant.variant;
    return "kernel " + contestant.version + (contestant.variant.empty() ? "" : ", " + contestant.variant);
  }

  double flops() const { return flops_of(request_.problem); }

  /// The name tells whether cuBLAS alone computes D, or an elementwise kernel follows.
  std::string name_of_baseline(const std::string& call) const {
    return is_fused_by_cublas(request_.problem) ? call : call + " and an elementwise kernel";
  }

  std::string name_of_cublas_call() const {
    const bool is_batched = request_.problem.batch_count > 1;
    if (request_.problem.input_type == DataType::Float32) {
      return is_batched ? "cublasSgemmStridedBatched" : "cublasSgemm";
    }
    return is_batched ? "cublasGemmStridedBatchedEx" : "cublasGemmEx";
  }

  Status add_baseline() {
    HG_RETURN_IF_ERROR(Cublas::create(&cublas_));
    HG_RETURN_IF_ERROR(elementwise_.allocate(request_.problem));
    const GemmArgs of_cublas = product_of(buffers_.sets().front());
    if (is_product_alone(problem_of(of_cublas))) {
      add({.version = std::string(kBaselineVersion),
           .variant = name_of_baseline(name_of_cublas_call()),
           .flops = flops()},
          [this](const GemmArgs& args, cudaStream_t stream) {
            return with_epilogue(args, cublas_->gemm(product_of(args), stream), stream);
          });
    }
    HG_RETURN_IF_ERROR(CublasLtCandidates::find(of_cublas, &candidates_));
    const auto launch = [this](std::size_t index, const GemmArgs& args, cudaStream_t stream) {
      return with_epilogue(args, candidates_->launch(index, product_of(args), stream), stream);
    };
    std::vector<std::size_t> sound(candidates_->count());
    std::iota(sound.begin(), sound.end(), std::size_t{0});
    if (request_.verify) HG_RETURN_IF_ERROR(leave_out_wrong_candidates(launch, &sound));
    std::optional<std::size_t> fastest;
    HG_RETURN_IF_ERROR(
        find_fastest_candidate(launch, sound, buffers_.sets(), request_.seed, stream_.get(), &fastest));
    if (!fastest) return {};
    add({.version = std::string(kBaselineVersion),
         .variant = name_of_baseline(fmt::format("cublasLt #{}", *fastest)),
         .flops = flops()},
        [launch, index = *fastest](const GemmArgs& args, cudaStream_t stream) {
          return launch(index, args, stream);
        });
    return {};
  }

  /// What cuBLAS computes: all of `args`, or the product without what the elementwise kernel does.
  GemmArgs product_of(const GemmArgs& args) const {
    return is_fused_by_cublas(request_.problem) ? args : elementwise_.product_of(args);
  }

  /// Enqueues the elementwise kernel, if there is one, behind product_of(args). `launched`: the Status of the product.
  Status with_epilogue(const GemmArgs& args, const Status& launched, cudaStream_t stream) const {
    if (!launched.ok() || is_fused_by_cublas(request_.problem)) return launched;
    return elementwise_.launch(args, stream);
  }

  /// The wrong candidates become one contestant, so that the table shows them.
  Status leave_out_wrong_candidates(
      const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
      std::vector<std::size_t>* sound) {
    CandidateVerdicts verdicts;
    HG_RETURN_IF_ERROR(check_candidates(request_.problem, candidates_->count(), launch, request_.seed,
                                        hang_timeout_seconds(flops(), 1), &verdicts));
    *sound = verdicts.sound;
    if (verdicts.wrong.empty()) return {};
    add({.version = std::string(kBaselineVersion),
         .variant = fmt::format("cublasLt #{}", fmt::join(verdicts.wrong, ", #")),
         .flops = flops(),
         .fault = fmt::format("{} of {} candidates are wrong: {}", verdicts.wrong.size(),
                              candidates_->count(), verdicts.first_fault)},
        nullptr);
    return {};
  }

  /// Adds the configurations for which this GPU has enough shared memory. Without verification, one that cannot be
  /// launched would end the session.
  Status add_cutlass() {
    int device = 0;
    int max_shared_bytes = 0;
    HG_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
    HG_RETURN_IF_CUDA_ERROR(
        cudaDeviceGetAttribute(&max_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    for (const CutlassConfig& config : cutlass_configs(request_.problem.input_type)) {
      if (config.shared_bytes > static_cast<std::size_t>(max_shared_bytes)) continue;
      add({.version = std::string(kCutlassVersion), .variant = config.name, .flops = flops()}, config.launch);
    }
    return {};
  }

  Status add_ceiling() {
    const int sm_count = request_.device.sm_count;
    // The ceiling issues as many multiplications as all batches have.
    GemmShape shape = request_.problem.shape;
    shape.m = static_cast<int>(
        std::min<std::int64_t>(lines_of_d(request_.problem).lines, std::numeric_limits<int>::max()));
    const std::int64_t operand_elems = wgmma_ceiling_operand_elems();
    HG_RETURN_IF_ERROR(ceiling_operands_.allocate(operand_elems));
    HG_RETURN_IF_ERROR(fill_matrix(ceiling_operands_.data(), DataType::BFloat16, 1, operand_elems,
                                   operand_elems, request_.data, integer_density(operand_elems),
                                   request_.seed, stream_.get()));
    HG_RETURN_IF_ERROR(ceiling_sink_.allocate(wgmma_ceiling_sink_elems(sm_count)));
    add({.version = std::string(kCeilingVersion),
         .variant = "",
         .flops = wgmma_ceiling_flops(shape),
         .verifiable = false},
        [this, sm_count, shape](const GemmArgs&, cudaStream_t stream) {
          return launch_wgmma_ceiling(shape, sm_count, ceiling_operands_.data(), ceiling_sink_.data(),
                                      stream);
        });
    return {};
  }

  SessionRequest request_;
  CudaStream stream_;
  OperandBuffers buffers_;
  DeviceBuffer<__nv_bfloat16> ceiling_operands_;
  DeviceBuffer<float> ceiling_sink_;
  std::unique_ptr<Cublas> cublas_;
  ElementwiseEpilogue elementwise_;
  std::unique_ptr<CublasLtCandidates> candidates_;
  std::vector<SessionContestant> contestants_;
  std::vector<Launch> launches_;              // of each contestant
  std::vector<std::size_t> sampler_numbers_;  // of each contestant that was prepared
  std::optional<GpuSampler> sampler_;  // last, so that its graphs are destroyed before what they refer to
};

}  // namespace

bool has_ceiling(const GemmProblem& problem, const DeviceInfo& device) {
  return problem.input_type == DataType::BFloat16 && device.compute_capability == ComputeCapability{9, 0};
}

bool suits_cutlass(const GemmProblem& problem, const DeviceInfo& device) {
  return is_cutlass_problem(problem) && !(device.compute_capability < ComputeCapability{8, 0});
}

std::span<const KernelInfo> CudaPlatform::kernels() { return all_kernels(); }

bool CudaPlatform::has_cutlass() { return !cutlass_configs(DataType::BFloat16).empty(); }

Status CudaPlatform::query_device(DeviceInfo* device) {
  HG_RETURN_IF_ERROR(query_cuda_device(device));
  if (has_gpu_kernels()) return {};
  return unsupported("this program was built without kernels for GPUs; type `./dev build` to compile them");
}

Status CudaPlatform::check_tensor_map_support() { return hopper_gemm::check_tensor_map_support(); }

Status CudaPlatform::open_nvml(const DeviceInfo& device, std::unique_ptr<Nvml>* nvml) {
  NvmlApi api;
  HG_RETURN_IF_ERROR(load_nvml(kNvmlLibrary, &api));
  return Nvml::open(api, device.pci_bus_id, nvml);
}

std::int64_t CudaPlatform::required_bytes(const GemmProblem& problem, std::int64_t l2_bytes, bool verify) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t operands =
      hopper_gemm::required_bytes(problem, l2_bytes) + ElementwiseEpilogue::required_bytes(problem);
  // Beyond any GPU's memory the answer no longer matters, and the sums below could overflow.
  constexpr std::int64_t kBeyondAnyGpu = std::int64_t{1} << 50;
  if (operands > kBeyondAnyGpu) return kMost;
  return operands + (verify ? verify_required_bytes(problem) : 0) + kOverheadBytes;
}

Status CudaPlatform::probe(const ProbeRequest& request, ProbeReport* report) {
  return probe_gpu(request, report);
}

Status CudaPlatform::open_session(const SessionRequest& request, std::unique_ptr<Session>* session) {
  auto opened = std::make_unique<CudaSession>(request);
  CudaSession& cuda_session = *opened;
  *session = std::move(opened);
  return cuda_session.open();
}

}  // namespace hopper_gemm
