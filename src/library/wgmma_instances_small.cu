#include "library/wgmma_instances.cuh"

namespace hopper_gemm::library::wgmma {

const std::array<Instance, kSmallTiles.size()> kSmallInstances = instances_of<kSmallTiles>();

}  // namespace hopper_gemm::library::wgmma
