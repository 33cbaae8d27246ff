#include "registry.hpp"

#include <algorithm>
#include <array>

#include "kernels/hopper/versions.hpp"

namespace hopper_gemm {
namespace {

constexpr KernelTarget kHopper = {.compute_capability = {9, 0},
                                  .or_newer = false,
                                  .input_type = DataType::BFloat16,
                                  .b_layout = Layout::ColumnMajor};

constexpr std::array kKernels = {
    KernelInfo{"1", "tma_wgmma", "TMA tiles into swizzled shared memory, wgmma m64n64k16, one warpgroup",
               kHopper, v01::can_implement, v01::launch},
    KernelInfo{"2", "large_tile", "128x128 tile, wgmma m64n128k16: more operations per byte", kHopper,
               v02::can_implement, v02::launch},
    KernelInfo{"3", "producer_consumer",
               "a producer warp keeps a ring of stages filled for the consumer warpgroup", kHopper,
               v03::can_implement, v03::launch},
    KernelInfo{"4", "two_consumers",
               "128x256 tile over two consumer warpgroups, registers moved by setmaxnreg", kHopper,
               v04::can_implement, v04::launch},
    KernelInfo{"5", "persistent",
               "one CTA per SM walks over tiles in L2-aware bands, storing one while loading the next",
               kHopper, v05::can_implement, v05::launch},
    KernelInfo{"6", "ptx_mbarrier",
               "mbarriers through ptx/ with one arrival per warpgroup instead of cuda::barrier", kHopper,
               v06::can_implement, v06::launch},
    KernelInfo{"7", "cluster_multicast", "clusters of two CTAs share each B block by TMA multicast", kHopper,
               v07::can_implement, v07::launch},
    KernelInfo{
        "8", "lean_epilogue",
        "less between tiles and K blocks: overwriting first wgmma, one block in flight, advanced descriptors",
        kHopper, v08::can_implement, v08::launch},
    KernelInfo{"9", "tma_store", "D through shared memory and TMA, under the next tile", kHopper,
               v09::can_implement, v09::launch},
    KernelInfo{"10", "hilbert",
               "an order made for L2: squares of a Hilbert curve, even waves, a row to each GPC", kHopper,
               v10::can_implement, v10::launch},
    KernelInfo{"11", "stmatrix", "stmatrix into swizzled staging: no bank conflicts in the epilogue", kHopper,
               v11::can_implement, v11::launch},
};

constexpr std::size_t kHopperVersions = 11;

}  // namespace

std::span<const KernelInfo> all_kernels() { return kKernels; }

std::span<const KernelInfo> hopper_ladder() { return all_kernels().first(kHopperVersions); }

const KernelInfo* find_kernel(std::string_view version) {
  const auto found = std::find_if(kKernels.begin(), kKernels.end(),
                                  [&](const KernelInfo& kernel) { return kernel.version == version; });
  return found == kKernels.end() ? nullptr : &*found;
}

std::string sm_text(ComputeCapability capability) {
  return "sm_" + std::to_string(capability.major) + std::to_string(capability.minor);
}

std::string target_text(const KernelTarget& target) {
  return sm_text(target.compute_capability) + (target.or_newer ? " or newer" : "");
}

bool runs_on(const KernelTarget& target, ComputeCapability gpu) {
  return gpu == target.compute_capability || (target.or_newer && target.compute_capability < gpu);
}

GemmProblem canonical_problem(const KernelInfo& kernel, GemmShape shape, std::optional<DataType> type) {
  const DataType data_type = type.value_or(kernel.target.input_type);
  return {
      .shape = shape, .input_type = data_type, .output_type = data_type, .b_layout = kernel.target.b_layout};
}

}  // namespace hopper_gemm
