#include "benchmark/cutlass_baseline.hpp"

#include <cutlass/bfloat16.h>
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/half.h>

#include <array>
#include <cstddef>
#include <string>

#include "device/launch.hpp"

namespace hopper_gemm {
namespace {

template <typename Element>
constexpr DataType kDataType = DataType::BFloat16;
template <>
constexpr DataType kDataType<cutlass::half_t> = DataType::Float16;

/// CUTLASS's profiler calls this cutlass_tensorop_{bf16_,}s16816gemm_{bf16,f16}_<tile>x<stages>_tn_align8.
template <typename Element, typename BlockShape, typename WarpShape, int kStages>
class Configuration {
  static constexpr int kAlignment = 8;
  using Kernel = typename cutlass::gemm::device::Gemm<
      Element, cutlass::layout::RowMajor, Element, cutlass::layout::ColumnMajor, Element,
      cutlass::layout::RowMajor, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, BlockShape,
      WarpShape, cutlass::gemm::GemmShape<16, 8, 16>,
      cutlass::epilogue::thread::LinearCombination<Element, kAlignment, float, float>,
      cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, kStages, kAlignment,
      kAlignment>::GemmKernel;

 public:
  static constexpr std::size_t kSharedBytes = sizeof(typename Kernel::SharedStorage);

  // device::Gemm would turn every error of CUDA into the same internal error, so this launches the kernel itself.
  static Status launch(const GemmArgs& args, cudaStream_t stream) {
    HG_RETURN_IF_ERROR(check_cutlass_gemm(args));
    if (args.input_type != kDataType<Element>) {
      return unsupported(std::string("this configuration of CUTLASS multiplies ") +
                         to_string(kDataType<Element>) + ", not " + to_string(args.input_type));
    }
    const cutlass::gemm::GemmCoord problem(args.shape.m, args.shape.n, args.shape.k);
    const typename Kernel::ThreadblockSwizzle swizzle;
    const cutlass::gemm::GemmCoord tiles =
        swizzle.get_tiled_shape(problem, {BlockShape::kM, BlockShape::kN, BlockShape::kK}, 1);
    const auto a = ref(args.a, cutlass::layout::RowMajor(args.lda));
    const auto b = ref(args.b, cutlass::layout::ColumnMajor(args.ldb));
    const auto d = ref(args.d, cutlass::layout::RowMajor(args.ldd));
    constexpr float kAlpha = 1;
    constexpr float kBeta = 0;  // so that C is not read
    const typename Kernel::Params params(problem, tiles, a, b, d, d, {kAlpha, kBeta});
    return launch_kernel(cutlass::Kernel<Kernel>, swizzle.get_grid_shape(tiles), Kernel::kThreadCount,
                         kSharedBytes, stream, params);
  }

 private:
  /// Params take no const operands, though the kernel only reads A and B.
  template <typename Layout>
  static cutlass::TensorRef<Element, Layout> ref(const void* data, Layout layout) {
    return {static_cast<Element*>(const_cast<void*>(data)), layout};
  }
};

template <typename Element, int kBlockM, int kBlockN, int kBlockK, int kWarpM, int kWarpN, int kStages>
constexpr CutlassConfig config(const char* name) {
  using Chosen = Configuration<Element, cutlass::gemm::GemmShape<kBlockM, kBlockN, kBlockK>,
                               cutlass::gemm::GemmShape<kWarpM, kWarpN, kBlockK>, kStages>;
  return {name, Chosen::kSharedBytes, Chosen::launch};
}

// These are from the profiler's list for sm_80: the largest tiles, tiles of which two fit an SM, and two smaller ones.
template <typename Element>
constexpr std::array kConfigs = {
    config<Element, 128, 256, 32, 64, 64, 3>("128x256x32, warps 64x64, 3 stages"),
    config<Element, 256, 128, 32, 64, 64, 3>("256x128x32, warps 64x64, 3 stages"),
    config<Element, 128, 256, 64, 64, 64, 3>("128x256x64, warps 64x64, 3 stages"),
    config<Element, 256, 128, 64, 64, 64, 3>("256x128x64, warps 64x64, 3 stages"),
    config<Element, 128, 128, 32, 64, 64, 4>("128x128x32, warps 64x64, 4 stages"),
    config<Element, 128, 128, 32, 64, 64, 5>("128x128x32, warps 64x64, 5 stages"),
    config<Element, 128, 128, 64, 64, 64, 3>("128x128x64, warps 64x64, 3 stages"),
    config<Element, 128, 64, 64, 64, 32, 3>("128x64x64, warps 64x32, 3 stages"),
    config<Element, 64, 128, 64, 32, 64, 3>("64x128x64, warps 32x64, 3 stages"),
};

}  // namespace

std::span<const CutlassConfig> cutlass_configs(DataType type) {
  switch (type) {
    case DataType::BFloat16: return kConfigs<cutlass::bfloat16_t>;
    case DataType::Float16: return kConfigs<cutlass::half_t>;
    case DataType::Float32: return {};
  }
  return {};
}

}  // namespace hopper_gemm
