#include <array>

#include "gemm/host/backend.hpp"

namespace hopper_gemm::library {

std::span<const Backend* const> all_backends() {
  static const std::array<const Backend*, 2> backends = {&wgmma_backend(), &mma_sync_backend()};
  return backends;
}

}  // namespace hopper_gemm::library
