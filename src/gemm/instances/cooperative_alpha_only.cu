#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::wgmma {

const std::array<Instance, kPlainTiles.size()> kPlainInstances = instances_of<kPlainTiles>();

}  // namespace hopper_gemm::library::wgmma
