#include "library/wgmma_instances.cuh"

namespace hopper_gemm::library::wgmma {

const std::array<Instance, kPlainTiles.size()> kPlainInstances = instances_of<kPlainTiles>();

}  // namespace hopper_gemm::library::wgmma
