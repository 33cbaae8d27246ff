#include "registry.hpp"

#include <algorithm>
#include <array>

#include "kernels/hopper/versions.hpp"

namespace hopper_gemm {
namespace {

constexpr ComputeCapability kHopper = {9, 0};

constexpr std::array kHopperLadder = {
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
};

}  // namespace

std::span<const KernelInfo> hopper_ladder() { return kHopperLadder; }

const KernelInfo* find_kernel(std::string_view version) {
  const auto found = std::find_if(kHopperLadder.begin(), kHopperLadder.end(),
                                  [&](const KernelInfo& kernel) { return kernel.version == version; });
  return found == kHopperLadder.end() ? nullptr : &*found;
}

}  // namespace hopper_gemm
