#include "gemm/instances/mma_sync_configs.hpp"

namespace hopper_gemm::library::mma_sync {

const SmallInstances kSmallInstancesFp16 = instance_table<kSmallConfigs, __half>();

}  // namespace hopper_gemm::library::mma_sync
