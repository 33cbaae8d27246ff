#include "gemm/instances/mma_sync_configs.hpp"

namespace hopper_gemm::library::mma_sync {

const SmallInstances kSmallInstancesBf16 = instance_table<kSmallConfigs, __nv_bfloat16>();

}  // namespace hopper_gemm::library::mma_sync
