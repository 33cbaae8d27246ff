#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::cooperative {

const std::array<Instance, kSmallKernels.size()> kSmallInstances = instances_of<kSmallKernels>();

}  // namespace hopper_gemm::library::cooperative
