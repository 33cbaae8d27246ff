#pragma once

#include "gemm/config.hpp"
#include "hopper_gemm/host_device.hpp"

// What kernels with a mixed tile N are compiled for, on the GPU and on the host.

namespace hopper_gemm::library {

/// The cooperative kernel's: the least bytes for a product. Its stages leave no room for what it stores, which goes
/// through one of them.
inline constexpr KernelConfig kWideConfig = {.schedule = Schedule::Cooperative,
                                             .consumers = 2,
                                             .block_m = 256,
                                             .block_n = 192,
                                             .stages = 4,
                                             .cluster_n = 2,
                                             .narrow_n = 128,
                                             .epilogues = Epilogues::WithoutMatrices};

/// At either end of a tile that kernel's upper half multiplies so many K blocks, then its lower half, so that one is
/// stored under the other's products.
inline constexpr int kWideEndKBlocks = 2;

HG_HOST_DEVICE constexpr KernelConfig pingpong_config(int block_n, Epilogues epilogues, Majors majors) {
  return {.schedule = Schedule::Pingpong,
          .consumers = 2,
          .block_m = 128,
          .block_n = block_n,
          .stages = 5,
          .cluster_n = 2,
          .narrow_n = 128,
          .epilogues = epilogues,
          .majors = majors};
}

/// The pingpong kernel's. The width whose waves are fullest runs. Only 192 columns are whole swizzle atoms and epilogue
/// subtiles, so that the others take no MN-major B and no C.
inline constexpr KernelConfig kPingpongConfigs[] = {
    pingpong_config(192, Epilogues::All, Majors::Any),
    pingpong_config(176, Epilogues::WithoutMatrices, Majors::KMajorB),
    pingpong_config(144, Epilogues::WithoutMatrices, Majors::KMajorB),
};

}  // namespace hopper_gemm::library
