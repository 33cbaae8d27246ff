/// The library: a GEMM of any shape, layout and alignment, with a fused epilogue, for GPUs from sm_80 on.
///
///   D = activation(alpha · op(A) · op(B) + beta · C + bias), accumulated in fp32, for each of batch_count problems.
///
/// The library can also store the activation's argument in an auxiliary output. D may be gated: activation(gate) · up.
///
/// Describe the problem, make a plan for it, and run the plan as often as you like. The library reports every error as
/// a Status, also when memory runs out:
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

/// A leading dimension or a batch stride without gaps.
inline constexpr std::int64_t kPacked = -1;

/// How a matrix lies in memory. Let the stored matrix have R rows and C columns. If it is row-major, its lines are its
/// rows, of C elements each. If it is column-major, its lines are its columns, of R elements each.
struct MatrixLayout {
  Layout order = Layout::RowMajor;
  bool transposed = false;  ///< op(X) is the transpose of the stored matrix; only A and B may set this
  /// Elements from the start of a line to the start of the next: at least a line's length.
  std::int64_t leading_dimension = kPacked;
  /// Elements from a batch's matrix to the next batch's. A matrix may lie in the gaps of another, as the heads of
  /// attention do. 0: all batches share one matrix. D's and aux's batches must not share any element.
  std::int64_t batch_stride = kPacked;
  /// Every address that the plan runs with is a multiple of this many bytes: a power of two, and at least the size of
  /// an element. TMA can move the matrix only if this is 16 or more and the leading dimension and the batch stride are
  /// multiples of 16 bytes. Otherwise the library takes a slower way.
  int alignment_bytes = 16;
};

/// A GEMM without its operands.
struct GemmDescriptor {
  std::int64_t m = 0;  ///< rows of op(A), C and D: 0 to 2^31 - 257
  std::int64_t n = 0;  ///< columns of op(B), C and D, in the same range; a gated D has half as many
  std::int64_t k = 0;  ///< columns of op(A), rows of op(B), in the same range; if 0, the product is 0
  std::int64_t batch_count = 1;               ///< 0 to 2^31 - 1
  DataType input_type = DataType::BFloat16;   ///< of A and B: bf16 or fp16
  DataType output_type = DataType::BFloat16;  ///< of C, D and aux
  MatrixLayout a;
  MatrixLayout b;
  MatrixLayout c;  ///< if its order differs from D's, every run must have beta = 0
  MatrixLayout d;
  Bias bias = Bias::None;                   ///< PerRow has M elements without gaps, PerColumn N
  DataType bias_type = DataType::BFloat16;  ///< any
  std::int64_t bias_batch_stride = 0;       ///< elements, or kPacked; 0: all batches share one bias
  Activation activation = Activation::None;
  /// D[M, N / 2] = activation(gate) · up, as in SwiGLU and its relatives (Shazeer, "GLU Variants Improve Transformer",
  /// arXiv:2002.05202). Gate and up alternate in groups of 8 along the columns of op(B) and the elements of the bias;
  /// the gate's group comes first. interleave_gate_and_up() makes such a B. n must be a multiple of 16, D must be
  /// row-major, and every run must have beta = 0.
  bool gated = false;
  /// Each run also stores aux[M, N], the input of the activation, which a backward pass needs. The aux of a gated GEMM
  /// holds gate and up in the order of op(B)'s columns.
  bool has_aux = false;
  MatrixLayout aux;  ///< its order must be D's, and its batches must not share any element
};

/// Options of GemmPlan::create().
struct GemmOptions {
  /// The name of a configuration, as GemmPlan::config() returns it, or of a family: "cooperative", "pingpong",
  /// "small_m", "wgmma" for all three, or "mma_sync". create() fails if no configuration has that name, or if the GPU
  /// or the problem's extents do not suit it. If its kernel lacks an operation of the problem, the fastest kernel that
  /// has it runs instead, and explain() says so.
  ///
  /// Empty: the library chooses. If the environment variable HGEMM_CONFIG names a configuration that can compute the
  /// problem, the library takes that one. It ignores any other value of the variable, and explain() says why. Otherwise
  /// it looks into tuning files (load_tuning_file()), then into its own tables, and then it estimates.
  std::string config;
  /// On sm_90 the library's kernels overlap with the kernels before and after them in the stream if the launch gains
  /// from it (CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization").
  ///
  /// A kernel of the library may start while the kernel before it still runs. It neither reads nor writes global memory
  /// until that kernel has ended (PTX griddepcontrol.wait). Until then it sets itself up and prefetches operands to L2.
  /// The prefetch is safe, because all writes go through L2: no value there can become stale.
  ///
  /// The next kernel may start before the library's kernel has ended if it was launched with the attribute
  /// cudaLaunchAttributeProgrammaticStreamSerialization. It must call cudaGridDependencySynchronize() before it reads D
  /// or aux, and before it writes the workspace or anything that this GEMM reads. Any other kernel, copy or event waits
  /// by itself.
  ///
  /// false turns both overlaps off, also in graphs.
  bool programmatic_dependent_launch = true;
  /// The most bytes that GemmPlan::workspace_bytes() may return. A workspace lets several clusters share K. That helps
  /// if D is small and K is long: half a MiB lets all SMs of an H200 share a D of 64x64. 0: the plan uses none.
  std::size_t workspace_limit_bytes = std::size_t{64} << 20;
};

/// The operands of one run. All are device pointers. Matrices are aligned as the descriptor promises, the bias to its
/// element size.
///
/// D, aux and the workspace must not overlap each other, nor anything that the run reads. The exception: D may be C
/// itself, with the same leading dimension and batch stride.
///
/// Two operands overlap if the ranges from their first to their last byte overlap. Column slices of one matrix do not
/// count as overlapping: their lines are the same number of bytes apart and lie side by side. D and A may be such
/// slices.
struct GemmOperands {
  const void* a = nullptr;  ///< not read, and may be null, if alpha or K is 0; the same holds for b
  const void* b = nullptr;
  void* d = nullptr;
  const void* c = nullptr;     ///< not read, and may be null, if beta is 0
  const void* bias = nullptr;  ///< must be null if the descriptor has no bias
  void* aux = nullptr;         ///< must be null if the descriptor has no aux
  float alpha = 1;
  float beta = 0;
  /// At least GemmPlan::workspace_bytes() bytes, 16-byte aligned. No other run may use them at the same time.
  ///
  /// Null, with workspace_bytes 0: run() takes the memory from a pool of the library's and gives it back, both in the
  /// order of the stream (cudaMallocFromPoolAsync). The pool keeps the memory for later runs in the same context. In a
  /// graph, memory nodes do this, and CUDA allows those neither in child graphs nor in graphs that the device launches.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// A problem with the kernel and the configuration that the library chose for it on the device that was current.
///
/// Copies of a plan are cheap. Several threads may run a plan on several streams at the same time.
///
/// Captures: every function may be called while streams capture, in any mode (cudaStreamCaptureMode), even as the first
/// call of a process. create() adds nothing to a graph.
///
/// Contexts: a plan runs under every CUDA context of its device. The first run under another context makes the plan
/// again in the same configuration, for the SMs of that context. Another context is one of the program's own, a green
/// context, or the primary one after cudaDeviceReset(). The thread's current context counts. The stream may belong to
/// another context, but the plan is not sized for that one.
///
/// Environment: the library reads HGEMM_CONFIG, see GemmOptions::config, HGEMM_TUNING_FILE, see load_tuning_file(), and
/// HGEMM_PROBE_FILE, see load_probe_file().
class HG_API GemmPlan {
 public:
  /// An empty plan, which refuses to run.
  GemmPlan();
  ~GemmPlan();
  GemmPlan(const GemmPlan&) noexcept;
  GemmPlan(GemmPlan&&) noexcept;
  GemmPlan& operator=(const GemmPlan&) noexcept;
  GemmPlan& operator=(GemmPlan&&) noexcept;

  /// Makes this the plan of `descriptor` on the current device. On failure the plan does not change.
  ///
  /// It waits for no other stream, but CUDA may wait when it loads a kernel's code for the first time (CUDA C++
  /// Programming Guide, "Lazy Loading"). The first plan of a context may run small kernels, and waits at most 2 ms for
  /// them.
  ///
  /// InvalidArgument: a field has a value that no GEMM can have, or no configuration has the requested name. The
  /// message names the field or the configuration.
  /// Unsupported: there is no GPU, or it is older than sm_80; the driver is too old; the inputs are fp32; operands span
  /// 2^63 bytes or more; or the requested configuration is not for this problem.
  /// OutOfMemory: the host or the GPU has no memory left.
  /// CudaError: the CUDA runtime refused a call.
  Status create(const GemmDescriptor& descriptor, const GemmOptions& options = {});

  /// Enqueues the GEMM on `stream` and returns without waiting. It uses no other stream, and takes no GPU memory but for
  /// a workspace that the caller does not give, see GemmOperands::workspace. Equal operands give equal bits on every run
  /// of a configuration.
  ///
  /// If D has no elements it does nothing, whatever the operands.
  ///
  /// InvalidArgument: an operand is null, misaligned or too small, or overlaps another that it must not; the message
  /// names it. Or the plan is empty.
  /// Unsupported: the current device is not the plan's, or the current context has too few SMs for the plan's clusters.
  /// OutOfMemory: the host has no memory left, or the GPU none for the workspace.
  /// CudaError: CUDA refused the launch, as it refuses every launch after any kernel of the process has failed.
  ///
  /// If an address is outside the GPU's memory, the kernel fails. The next synchronisation of the stream reports that.
  Status run(const GemmOperands& operands, cudaStream_t stream) const;

  /// The bytes of a workspace that the caller gives run(), or that run() takes by itself: at most
  /// GemmOptions::workspace_limit_bytes.
  std::size_t workspace_bytes() const;

  /// The name of the chosen configuration, such as "cooperative_128x256_s4_c2x1". It is empty if the plan is empty or D
  /// has no elements.
  const std::string& config() const;

  /// A few lines of text that say what the library chose, and why.
  std::string explain() const;

 private:
  std::shared_ptr<const library::Plan> plan_;
};

/// Interleaves two weight matrices to the B of a gated GEMM. Enqueues a copy on `stream` and returns without waiting.
///
/// gemm: the GEMM's descriptor; B is written for all its batches. gate, up: device pointers to the two halves of op(B),
/// k rows and n / 2 columns each, aligned to their element size. halves: how both lie in memory. b: where B is written,
/// in the layout gemm.b; it must overlap neither half.
///
/// InvalidArgument: the message says what is wrong with gemm or halves, or which pointer is null or misaligned.
/// CudaError: CUDA refused the launch.
HG_API Status interleave_gate_and_up(const GemmDescriptor& gemm, const void* gate, const void* up,
                                     const MatrixLayout& halves, void* b, cudaStream_t stream);

/// Loads a file that `matmul tune best --json` wrote on such a GPU as the current device. Plans that are made from now
/// on run the configurations that the file names for their problems, if options.config and HGEMM_CONFIG name none.
/// Plans that exist keep theirs.
///
/// An entry holds for a problem of the same extents, batches, types and operations whose operands have the same
/// dimension contiguous. If there is none, the entry for the product alone holds also for a problem with an epilogue,
/// unless its configuration has a mixed tile N. If the configuration cannot compute the problem, because the workspace
/// limit is too low for example, the library chooses as if there were no entry. GemmPlan::explain() names the file that
/// chose, or says why its configuration cannot run.
///
/// A program may load several files. If two of them have entries for a problem, the one that was loaded last counts. A
/// file that is loaded again replaces what it held before. Other threads may make and run plans at the same time. An
/// entry holds only on GPUs with as many SMs and about as fast a memory as the one that it was measured on.
///
/// The environment variable HGEMM_TUNING_FILE names a file that the library reads when it creates the first plan, and
/// again if the variable has another value later. Its entries count only if no loaded file has an entry for the problem.
/// If this file cannot be used, create() succeeds without it, and explain() says why.
///
/// On failure the library uses nothing of the file, and what was loaded before stays.
/// InvalidArgument: the file cannot be read, is larger than 4 MiB, or has a fault; the message names the file and the
/// fault.
/// Unsupported: the file has another version of the format, or was measured on another GPU; or there is no GPU.
/// OutOfMemory: the host has no memory left.
/// CudaError: the CUDA runtime refused a call.
HG_API Status load_tuning_file(const std::string& path);

/// Loads a file that `matmul probe --json` wrote on such a GPU as the current device. Plans that are made from now on
/// estimate by its rates: of wgmma and of L2, and the clock of the SMs. Without a file the library takes the clock and the
/// memory's rate from the driver, and all else as an H100 SXM and an H200 have it. On a Hopper with slower tensor cores or
/// another L2, other tiles may be the fastest. Plans that exist keep their configurations.
///
/// What was measured for a shape comes first: tuning files, and the library's own tables. GemmPlan::explain() names the
/// file if its rates decided.
///
/// If a program loads several files for a GPU, the one that was loaded last counts. Other threads may make and run plans
/// at the same time. The environment variable HGEMM_PROBE_FILE names a file in the same way as HGEMM_TUNING_FILE does; it
/// counts only if no file was loaded for the GPU. A file holds only on GPUs with as many SMs and about as fast a memory as
/// the one that it was measured on.
///
/// It fails as load_tuning_file() does.
HG_API Status load_probe_file(const std::string& path);

/// Makes a plan and runs it once. If the problem comes again, keep a plan instead: making one costs more than running
/// it.
HG_API Status gemm(const GemmDescriptor& descriptor, const GemmOperands& operands, cudaStream_t stream,
                   const GemmOptions& options = {});

}  // namespace hopper_gemm
