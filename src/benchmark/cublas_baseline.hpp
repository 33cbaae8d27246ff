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
/// Most programs run the first guess. On Hopper a later one is often faster, and sometimes cublasGemmEx chooses better
/// than all of them. A fair comparison needs the best that cuBLAS can do.
class CublasLtCandidates {
 public:
  /// Asks for up to 32 candidates for GEMMs of args' shape, types, layout, leading dimensions, batches and epilogue. It
  /// is no error if there are none. There are none if the operation is not is_fused_by_cublas().
  static Status find(const GemmArgs& args, std::unique_ptr<CublasLtCandidates>* candidates);
  ~CublasLtCandidates();
  CublasLtCandidates(const CublasLtCandidates&) = delete;
  CublasLtCandidates& operator=(const CublasLtCandidates&) = delete;

  std::size_t count() const { return algorithms_.size(); }

  /// Enqueues the GEMM of `args` by candidate `index`. Unsupported: the candidate does not take these leading
  /// dimensions.
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

/// Which candidates multiply integers right.
struct CandidateVerdicts {
  std::vector<std::size_t> sound;  ///< right in every bit, or untested because they do not take the operands
  std::vector<std::size_t> wrong;
  std::string first_fault;  ///< the fault of the first wrong one; empty if none is wrong
};

/// Compares the results of candidates with the fp64 product of sparse integers, bit for bit. The matrices have the
/// benchmark's layouts and pitches. cublasLt is known to propose algorithms that leave out the end of K
/// (github.com/facebookexperimental/triton/issues/2767). launch: enqueues the problem by the candidate of that index,
/// below `count`. Errors: as verify_targets().
Status check_candidates(const GemmProblem& problem, std::size_t count,
                        const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
                        std::uint64_t seed, double timeout_seconds, CandidateVerdicts* verdicts);

/// Times these candidates on `sets` like the benchmark's contestants, in burst mode, and finds the one with the
/// smallest median. Empty if none of them runs. launch: as in check_candidates().
Status find_fastest_candidate(const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
                              std::span<const std::size_t> which, std::span<const GemmArgs> sets,
                              std::uint64_t seed, cudaStream_t stream, std::optional<std::size_t>* fastest);

}  // namespace hopper_gemm
