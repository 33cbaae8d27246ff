#include "ladder/ampere/v6_configs.hpp"

namespace hopper_gemm::ampere::v6 {

const FirstLaunchers kFirstLaunchersBf16 = launchers_of<kFirstConfigs, __nv_bfloat16>();

}  // namespace hopper_gemm::ampere::v6
