#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/device_buffer.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"
#include "verify/cublas_gemm.hpp"

namespace hopper_gemm {

/// The algorithms that cublasLt's heuristics propose for one GEMM, best guess first.
///
/// The first guess is what most programs run, but on Hopper a later one is often faster, and sometimes
/// cublasGemmEx chooses better than all of them: the baseline of a fair comparison is the best that cuBLAS
/// can do.
class CublasLtCandidates {
 public:
  /// Asks for up to 32 candidates for GEMMs of args' shape, types, layout, leading dimensions, batches and epilogue. None is not
  /// an error, and all that there is where the operation is not is_fused_by_cublas().
  static Status find(const GemmArgs& args, std::unique_ptr<CublasLtCandidates>* candidates);
  ~CublasLtCandidates();
  CublasLtCandidates(const CublasLtCandidates&) = delete;
  CublasLtCandidates& operator=(const CublasLtCandidates&) = delete;

  std::size_t count() const { return algorithms_.size(); }

  /// Enqueues what args say by candidate `index`. Unsupported: it does not take these leading dimensions.
  Status launch(std::size_t index, const GemmArgs& args, cudaStream_t stream);

 private:
  CublasLtCandidates() = default;
  Status create_handles(const GemmArgs& args, cublasLtEpilogue_t epilogue);
  Status ask_heuristics(const GemmArgs& args);

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  DeviceBuffer<std::byte> workspace_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
};

/// What candidates make of a product of integers.
struct CandidateVerdicts {
  std::vector<std::size_t> sound;  ///< right in every bit, or not asked because they take no such operands
  std::vector<std::size_t> wrong;
  std::string first_fault;  ///< of the first that is wrong; empty if none is
};

/// Holds candidates against the fp64 product of sparse integers, bit for bit, in matrices that lie as the benchmark's do.
/// cublasLt is known to propose algorithms that leave out the end of K (github.com/facebookexperimental/triton/issues/2767).
/// launch: enqueues the problem by the candidate of that index, of `count`. Errors: as verify_targets().
Status check_candidates(const GemmProblem& problem, std::size_t count,
                        const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
                        std::uint64_t seed, double timeout_seconds, CandidateVerdicts* verdicts);

/// Times these candidates on `sets` like the benchmark's contestants, in burst mode, and names the fastest by median. Empty
/// when there is none that runs. launch: as check_candidates() has it.
Status find_fastest_candidate(const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
                              std::span<const std::size_t> which, std::span<const GemmArgs> sets,
                              std::uint64_t seed, cudaStream_t stream, std::optional<std::size_t>* fastest);

}  // namespace hopper_gemm
