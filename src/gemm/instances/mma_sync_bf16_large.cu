#include "gemm/instances/mma_sync_configs.hpp"

namespace hopper_gemm::library::mma_sync {

const LargeInstances kLargeInstancesBf16 = instance_table<kLargeConfigs, __nv_bfloat16>();

}  // namespace hopper_gemm::library::mma_sync
