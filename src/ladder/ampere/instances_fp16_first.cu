#include "ladder/ampere/v6_configs.hpp"

namespace hopper_gemm::ampere::v6 {

const FirstLaunchers kFirstLaunchersFp16 = launchers_of<kFirstConfigs, __half>();

}  // namespace hopper_gemm::ampere::v6
