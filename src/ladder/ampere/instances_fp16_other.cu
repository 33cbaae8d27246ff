#include "ladder/ampere/v6_configs.hpp"

namespace hopper_gemm::ampere::v6 {

const OtherLaunchers kOtherLaunchersFp16 = launchers_of<kOtherConfigs, __half>();

}  // namespace hopper_gemm::ampere::v6
