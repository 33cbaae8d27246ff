#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::cooperative {

const std::array<Instance, kLargeKernels.size()> kLargeInstances = instances_of<kLargeKernels>();

}  // namespace hopper_gemm::library::cooperative
