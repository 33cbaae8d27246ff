#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::cooperative {

const std::array<Instance, kSwappedKernels.size()> kSwappedInstances = instances_of<kSwappedKernels>();

}  // namespace hopper_gemm::library::cooperative
