#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::wgmma {

const std::array<Instance, kLargeTiles.size()> kLargeInstances = instances_of<kLargeTiles>();

}  // namespace hopper_gemm::library::wgmma
