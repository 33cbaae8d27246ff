#include "gemm/config_name.hpp"

namespace hopper_gemm::library {

std::string name_of(const GemmConfig& config) {
  const KernelConfig& kernel = config.kernel;
  const auto extents = [](int m, int n) { return std::to_string(m) + "x" + std::to_string(n); };
  std::string name = std::string(name_of(kernel.schedule)) + "_" + extents(kernel.block_m, kernel.block_n);
  if (kernel.narrow_n != 0) name += "+" + std::to_string(kernel.narrow_n);
  if (kernel.block_k != kBlockK) name += "x" + std::to_string(kernel.block_k);
  if (kernel.schedule == Schedule::Cooperative && kernel.consumers == 1) name += "_w1";
  if (kernel.divides_wgmma_n) name += "_wn";
  if (kernel.swap_ab) name += "_t";
  name += "_s" + std::to_string(kernel.stages);
  if (cluster_size(kernel) > 1) name += "_c" + extents(kernel.cluster_m, kernel.cluster_n);
  if (config.split_k > 1 || config.workspace_split_k > 1) name += "_k" + std::to_string(config.split_k);
  if (config.workspace_split_k > 1) name += "x" + std::to_string(config.workspace_split_k);
  return name;
}

}  // namespace hopper_gemm::library
