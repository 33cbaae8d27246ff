#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::cooperative {

const std::array<Instance, kAlphaOnlyKernels.size()> kAlphaOnlyInstances = instances_of<kAlphaOnlyKernels>();

}  // namespace hopper_gemm::library::cooperative
