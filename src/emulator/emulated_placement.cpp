#include "device/cluster_placement.hpp"

namespace hopper_gemm {

// Neighbours are in different GPCs, so that positions are not the identity.
std::span<const int> known_cluster_placement(Patience /*patience*/) {
  static constexpr int kGpcs[] = {0, 1, 0, 2, 1, 2, 0, 1};
  return kGpcs;
}

}  // namespace hopper_gemm
