#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::cooperative {

const std::array<Instance, kSmallSwappedKernels.size()> kSmallSwappedInstances =
    instances_of<kSmallSwappedKernels>();

}  // namespace hopper_gemm::library::cooperative
