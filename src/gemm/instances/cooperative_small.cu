#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::wgmma {

const std::array<Instance, kSmallTiles.size()> kSmallInstances = instances_of<kSmallTiles>();

}  // namespace hopper_gemm::library::wgmma
