#include "ladder/ampere/v6_configs.hpp"

namespace hopper_gemm::ampere::v6 {

const OtherLaunchers kOtherLaunchersBf16 = launchers_of<kOtherConfigs, __nv_bfloat16>();

}  // namespace hopper_gemm::ampere::v6
