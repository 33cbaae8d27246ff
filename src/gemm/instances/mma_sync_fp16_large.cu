#include "gemm/instances/mma_sync_configs.hpp"

namespace hopper_gemm::library::mma_sync {

const LargeInstances kLargeInstancesFp16 = instance_table<kLargeConfigs, __half>();

}  // namespace hopper_gemm::library::mma_sync
