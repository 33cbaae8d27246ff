/// The library: a GEMM of any shape, layout and alignment, with a fused epilogue, for GPUs from sm_80 on.
///
///   D = activation(alpha · op(A) · op(B) + beta · C + bias), accumulated in fp32, for each of batch_count problems.
///
/// It may store the activation's argument beside D, and D may be gated: activation(gate) · up.
///
/// Describe the problem, make a plan of it, run the plan as often as you like. Errors are statuses, want of memory too:
///
///   hopper_gemm::GemmDescriptor gemm;
///   gemm.m = m, gemm.n = n, gemm.k = k;
///   hopper_gemm::GemmPlan plan;
///   if (const auto status = plan.create(gemm); !status.ok()) return fail(status.message());
///
///   hopper_gemm::GemmOperands operands;
///   operands.a = a, operands.b = b, operands.d = d;
///   if (const auto status = plan.run(operands, stream); !status.ok()) return fail(status.message());
///
/// C++17. The C interface is gemm.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hopper_gemm/api.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

namespace library {
class Plan;
}

/// As a leading dimension or a batch stride: without gaps.
inline constexpr std::int64_t kPacked = -1;

/// How a matrix lies in memory, and what is taken from it. A matrix of R rows and C columns, as it is stored, has
/// lines of C elements where it is row-major, of R elements where it is column-major.
struct MatrixLayout {
  Layout order = Layout::RowMajor;
  bool transposed = false;  ///< op(X) is the transpose of what is stored. Of A and B alone
  /// Elements between the starts of consecutive lines, at least a line's length.
  std::int64_t leading_dimension = kPacked;
  /// Elements between the matrices of consecutive batches. Matrices may lie in each other's gaps, as heads of attention
  /// do. 0: all batches share one, except of D, of which no two may have an element in common.
  std::int64_t batch_stride = kPacked;
  /// What all addresses that the plan will be run with are multiples of, in bytes: a power of two, the size of an
  /// element at least. With less than 16, or a leading dimension or batch stride that is no multiple of 16 bytes, TMA
  /// cannot move the matrix, and a slower kernel is chosen.
  int alignment_bytes = 16;
};

/// A problem, without its operands.
struct GemmDescriptor {
  std::int64_t m = 0;            ///< rows of op(A), C and D: 0 to 2^31 - 257
  std::int64_t n = 0;            ///< columns of op(B), C and D: the same. Of a gated GEMM D has half as many
  std::int64_t k = 0;            ///< columns of op(A), rows of op(B): the same; with 0 the product is 0
  std::int64_t batch_count = 1;  ///< 0 to 2^31 - 1
  DataType input_type = DataType::BFloat16;   ///< of A and B: bf16 or fp16
  DataType output_type = DataType::BFloat16;  ///< of C, D and aux
  MatrixLayout a;
  MatrixLayout b;
  MatrixLayout c;  ///< order as D's, or no run may have a beta other than 0
  MatrixLayout d;
  Bias bias = Bias::None;                   ///< M elements without gaps PerRow, N PerColumn
  DataType bias_type = DataType::BFloat16;  ///< any
  std::int64_t bias_batch_stride = 0;       ///< elements, or kPacked; 0: all batches share one
  Activation activation = Activation::None;
  /// D[M, N / 2] = activation(gate) · up, as SwiGLU and its kin have it (Shazeer, "GLU Variants Improve Transformer",
  /// arXiv:2002.05202). Columns of op(B), and elements of the bias, alternate in groups of 8, the gate's first and then up's:
  /// interleave_gate_and_up() makes such a B. n is a multiple of 16, D is row-major, and no run has a beta other than 0.
  bool gated = false;
  /// Runs store aux[M, N] too: what the activation is applied to, of a gated GEMM gate and up as they lie in op(B). A
  /// backward pass needs it.
  bool has_aux = false;
  MatrixLayout aux;  ///< order as D's. No two batches may have an element in common
};

/// How a plan is to be made.
struct GemmOptions {
  /// A configuration by its name, as GemmPlan::config() gives it, or a family of them: "cooperative", "pingpong",
  /// "small_m", "wgmma" for all three, or "mma_sync". create() fails if there is none of that name, or if the GPU or the
  /// problem's extents do not suit it. If its kernel lacks an operation of the problem, the fastest kernel that has it runs
  /// instead, and explain() says so. Empty: the library chooses, or takes what the environment variable HGEMM_CONFIG names
  /// where that can compute the problem. A wrong value of the variable breaks nothing; explain() says that it was not
  /// followed, and why.
  std::string config;
  /// On sm_90 the library's kernels overlap with their neighbours in the stream where launches gain from it (CUDA C++
  /// Programming Guide, "Programmatic Dependent Launch and Synchronization").
  ///
  /// A kernel of the library may start while the kernel before it runs. It neither reads nor writes memory until that
  /// one has ended (PTX griddepcontrol.wait). Before, it sets itself up and prefetches operands to L2, where writes go,
  /// too, so that no value grows stale there.
  ///
  /// The kernel behind it may start before the library's kernel has ended, if it was launched with the attribute
  /// cudaLaunchAttributeProgrammaticStreamSerialization. Such a kernel must call cudaGridDependencySynchronize() before
  /// it reads D, or writes what this GEMM reads or its workspace. Any other kernel, copy or event waits by itself.
  ///
  /// false turns both off, in graphs too.
  bool programmatic_dependent_launch = true;
  /// The most that GemmPlan::workspace_bytes() may ask for. What a workspace is good for is a small D with a
  /// long K, more than the SMs of one cluster should share: half a MiB lets all SMs of an H200 share a D of
  /// 64x64.
  std::size_t workspace_limit_bytes = 0;
};

/// The operands of one run: device pointers, aligned as the descriptor promises, the bias to its elements.
///
/// D, aux and the workspace overlap neither each other nor what is read. D may be C itself, with the same leading
/// dimension and batch stride. Two operands overlap where the ranges from their first byte to their last do,
/// unless their lines are equally many bytes apart and lie side by side, as those of column slices of one
/// matrix: so may D and A.
struct GemmOperands {
  const void* a = nullptr;  ///< not read, and may be null, where alpha or K is 0; the same holds for b
  const void* b = nullptr;
  void* d = nullptr;
  const void* c = nullptr;     ///< not read, and may be null, where beta is 0
  const void* bias = nullptr;  ///< null where there is none
  void* aux = nullptr;         ///< the same
  float alpha = 1;
  float beta = 0;
  /// GemmPlan::workspace_bytes() of them or more, 16-byte aligned, of no other run's at the time.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// A problem with the kernel and the configuration that were chosen for it on the device that was current.
///
/// A plan may be copied, which is cheap, and run by several threads on several streams at the same time.
///
/// Captures: every function may be called while streams capture, in any mode (cudaStreamCaptureMode), even as the first
/// call of a process. create() adds nothing to a graph.
///
/// Contexts: a plan runs under every CUDA context of its device. The first run under another context, be it one of the
/// program's own, a green context or the primary one after cudaDeviceReset(), makes the plan again, in the same
/// configuration, for the SMs of that context. What counts is the thread's current context. A stream of another one may
/// be used, but the plan is not sized for it.
///
/// Environment: HGEMM_CONFIG alone, see GemmOptions::config.
class HG_API GemmPlan {
 public:
  /// A plan of nothing, which refuses to run.
  GemmPlan();
  ~GemmPlan();
  GemmPlan(const GemmPlan&) noexcept;
  GemmPlan(GemmPlan&&) noexcept;
  GemmPlan& operator=(const GemmPlan&) noexcept;
  GemmPlan& operator=(GemmPlan&&) noexcept;

  /// Makes this the plan of `descriptor` on the current device. On failure the plan stays what it was.
  ///
  /// It waits for no other stream, except that CUDA may wait when it loads a kernel's code for the first time (CUDA C++
  /// Programming Guide, "Lazy Loading"). The first plan of a context may run small kernels, and waits at most 2 ms for
  /// them.
  ///
  /// InvalidArgument: names the field that no GEMM can have, or the configuration that there is not.
  /// Unsupported: no GPU, or one older than sm_80, a driver that is too old, inputs of fp32, operands that
  /// span 2^63 bytes or more, a configuration that is not for this problem. OutOfMemory: of the host or the
  /// GPU. CudaError: the runtime refused a call.
  Status create(const GemmDescriptor& descriptor, const GemmOptions& options = {});

  /// Enqueues the GEMM on `stream` and returns without waiting. It uses no other stream, and allocates no memory of the
  /// GPU. Equal operands give equal bits on every run of a configuration.
  ///
  /// Where D has no elements it does nothing, whatever the operands.
  ///
  /// InvalidArgument: the message names the operand that is null, misaligned, too small or overlaps what it must not; or
  /// the plan is one of nothing. Unsupported: the current device is not the plan's, or the current context has too few
  /// SMs for its clusters. OutOfMemory: of the host. CudaError: CUDA refused the launch, as it does every launch once any
  /// kernel of the process has failed. Addresses outside the GPU's memory fail in the kernel: the stream's next
  /// synchronisation reports them.
  Status run(const GemmOperands& operands, cudaStream_t stream) const;

  /// What run() needs of the caller, in bytes: at most GemmOptions::workspace_limit_bytes.
  std::size_t workspace_bytes() const;

  /// The chosen configuration's name, such as "cooperative_128x256_s4_c2x1"; empty of a plan of nothing, and where D has
  /// no elements.
  const std::string& config() const;

  /// What was chosen and why: a few lines of text.
  std::string explain() const;

 private:
  std::shared_ptr<const library::Plan> plan_;
};

/// Makes the B of a gated GEMM of its two weights: enqueues a copy on `stream` and returns without waiting.
///
/// gemm: of the GEMM, all of whose batches are written. gate, up: device pointers to op(B) of k rows and n / 2 columns
/// each, aligned to their elements; `halves` says how both lie in memory. b: as gemm.b lies; it overlaps neither.
///
/// InvalidArgument: names what is wrong with gemm or halves, or the pointer that is null or misaligned. CudaError: CUDA
/// refused the launch.
HG_API Status interleave_gate_and_up(const GemmDescriptor& gemm, const void* gate, const void* up,
                                     const MatrixLayout& halves, void* b, cudaStream_t stream);

/// A plan of `descriptor`, run once. For a problem that comes again, keep the plan: making one costs more than running.
HG_API Status gemm(const GemmDescriptor& descriptor, const GemmOperands& operands, cudaStream_t stream,
                   const GemmOptions& options = {});

}  // namespace hopper_gemm
