// CUTLASS's kernels for Hopper as a shared library, which tools/race_peers.py compiles and races.
//
// Each computes D[M, N] = A[M, K] · B[N, K]ᵀ in bf16 with fp32 sums, and adds a bias of N elements if PEER_BIAS is 1.

#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/version.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

#ifndef PEER_BIAS
#error "PEER_BIAS must be 0 or 1"
#endif

namespace {

using cute::Int;
using cute::Shape;
using Element = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;

struct Problem {
  int m, n, k;
  const void* a;
  const void* b;
  void* d;
  const void* bias;
  void* workspace;
  std::size_t workspace_bytes;
  cudaStream_t stream;
  int sm_count;
  int swizzle;
};

/// kSwapped computes Dᵀ = B · Aᵀ, so that a small M lies along wgmma's N.
template <bool kSwapped, typename Tile, typename Cluster, typename MainloopSchedule,
          typename EpilogueSchedule, typename Scheduler>
int run(const Problem& problem) {
  constexpr int kAlignment = 16 / sizeof(Element);
  using OutputLayout = std::conditional_t<kSwapped, Column, Row>;
#if PEER_BIAS
  using Fusion = std::conditional_t<
      kSwapped,
      cutlass::epilogue::fusion::LinCombPerRowBias<Element, float, Element, void, float, kAlignment>,
      cutlass::epilogue::fusion::LinCombPerColBias<Element, float, Element, void, float, kAlignment>>;
#else
  using Fusion = cutlass::epilogue::fusion::LinearCombination<Element, float, void>;
#endif
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, OutputLayout, kAlignment, Element,
      OutputLayout, kAlignment, EpilogueSchedule, Fusion>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, Row, kAlignment, Element, Column,
      kAlignment, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      MainloopSchedule>::CollectiveOp;
  using Kernel =
      cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, Scheduler>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  const int rows = kSwapped ? problem.n : problem.m;
  const int columns = kSwapped ? problem.m : problem.n;
  const auto* first = static_cast<const Element*>(kSwapped ? problem.b : problem.a);
  const auto* second = static_cast<const Element*>(kSwapped ? problem.a : problem.b);
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {rows, columns, problem.k, 1},
      {first, cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {rows, problem.k, 1}), second,
       cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {columns, problem.k, 1})},
      {{},
       nullptr,
       {},
       static_cast<Element*>(problem.d),
       cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {rows, columns, 1})}};
  arguments.epilogue.thread.alpha = 1;
  arguments.epilogue.thread.beta = 0;
#if PEER_BIAS
  arguments.epilogue.thread.bias_ptr = static_cast<const Element*>(problem.bias);
#endif
  arguments.hw_info.sm_count = problem.sm_count;
  arguments.scheduler.max_swizzle_size = problem.swizzle;
  if (Gemm::get_workspace_size(arguments) > problem.workspace_bytes) {
    return static_cast<int>(cutlass::Status::kErrorWorkspaceNull);
  }
  // This also clears the counters of stream-K, which its kernels do not leave as they found them.
  Gemm gemm;
  cutlass::Status status = Gemm::can_implement(arguments);
  if (status == cutlass::Status::kSuccess)
    status = gemm.initialize(arguments, problem.workspace, problem.stream);
  if (status == cutlass::Status::kSuccess) status = gemm.run(problem.stream);
  return static_cast<int>(status);
}

template <int kM, int kN, int kK>
using Extents = Shape<Int<kM>, Int<kN>, Int<kK>>;
using Cooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using CooperativeStores = cutlass::epilogue::TmaWarpSpecializedCooperative;
using Pingpong = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using PingpongStores = cutlass::epilogue::TmaWarpSpecialized;
using Persistent = cutlass::gemm::PersistentScheduler;
using StreamK = cutlass::gemm::StreamKScheduler;

struct Configuration {
  const char* name;
  int (*run)(const Problem& problem);
};

// The tiles that CUTLASS's profiler finds fastest for large bf16 products, smaller ones, and swapped ones for a small M.
constexpr std::array kConfigurations = {
    Configuration{
        "128x256x64 2x1 cooperative",
        run<false, Extents<128, 256, 64>, Extents<2, 1, 1>, Cooperative, CooperativeStores, Persistent>},
    Configuration{
        "256x128x64 1x2 cooperative",
        run<false, Extents<256, 128, 64>, Extents<1, 2, 1>, Cooperative, CooperativeStores, Persistent>},
    Configuration{"128x128x64 2x1 pingpong",
                  run<false, Extents<128, 128, 64>, Extents<2, 1, 1>, Pingpong, PingpongStores, Persistent>},
    Configuration{"64x128x64 1x1 pingpong",
                  run<false, Extents<64, 128, 64>, Extents<1, 1, 1>, Pingpong, PingpongStores, Persistent>},
    Configuration{
        "128x256x64 2x1 stream-K",
        run<false, Extents<128, 256, 64>, Extents<2, 1, 1>, Cooperative, CooperativeStores, StreamK>},
    Configuration{
        "128x128x64 2x1 stream-K",
        run<false, Extents<128, 128, 64>, Extents<2, 1, 1>, Cooperative, CooperativeStores, StreamK>},
    Configuration{
        "swapped 128x64x128 1x1 stream-K",
        run<true, Extents<128, 64, 128>, Extents<1, 1, 1>, Cooperative, CooperativeStores, StreamK>},
    Configuration{
        "swapped 128x16x128 1x1 stream-K",
        run<true, Extents<128, 16, 128>, Extents<1, 1, 1>, Cooperative, CooperativeStores, StreamK>},
    Configuration{"swapped 64x64x128 1x1 pingpong",
                  run<true, Extents<64, 64, 128>, Extents<1, 1, 1>, Pingpong, PingpongStores, Persistent>},
    Configuration{"swapped 64x16x128 1x1 pingpong",
                  run<true, Extents<64, 16, 128>, Extents<1, 1, 1>, Pingpong, PingpongStores, Persistent>},
};

}  // namespace

extern "C" {

const char* cutlass_peer_version() {
  static const std::string text = std::to_string(CUTLASS_MAJOR) + "." + std::to_string(CUTLASS_MINOR) + "." +
                                  std::to_string(CUTLASS_PATCH);
  return text.c_str();
}

int cutlass_peer_count() { return static_cast<int>(kConfigurations.size()); }

const char* cutlass_peer_name(int index) { return kConfigurations[static_cast<std::size_t>(index)].name; }

/// Enqueues configuration `index` on `stream`; `swizzle` is the scheduler's largest swizzle in tiles. Returns a
/// cutlass::Status. No other launch in flight may use the workspace.
int cutlass_peer_run(int index, int m, int n, int k, const void* a, const void* b, void* d, const void* bias,
                     void* workspace, std::size_t workspace_bytes, cudaStream_t stream, int sm_count,
                     int swizzle) {
  return kConfigurations[static_cast<std::size_t>(index)].run(
      {m, n, k, a, b, d, bias, workspace, workspace_bytes, stream, sm_count, swizzle});
}
}
