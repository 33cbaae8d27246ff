#pragma once

#include "gemm/config.hpp"
#include "hopper_gemm/host_device.hpp"

// The configurations for which the kernels with a mixed tile N are compiled. Host and device code use them.

namespace hopper_gemm::library {

/// The cooperative kernel's configuration, which needs the fewest bytes for each product. Its stages leave no room for
/// staging buffers, so it stages D in one of them.
inline constexpr KernelConfig kWideConfig = {.schedule = Schedule::Cooperative,
                                             .consumers = 2,
                                             .block_m = 256,
                                             .block_n = 192,
                                             .stages = 4,
                                             .cluster_n = 2,
                                             .narrow_n = 128,
                                             .epilogues = Epilogues::WithoutMatrices};

/// K blocks at either end of a tile that the cooperative kernel multiplies first for the upper half and then for the
/// lower half. One half can then be stored while the other is multiplied.
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

/// The pingpong kernel's configurations. The narrower one serves shapes at which it fills waves better. Only 192
/// columns are whole swizzle atoms and epilogue subtiles. The other one therefore takes no MN-major B and no C.
inline constexpr KernelConfig kPingpongConfigs[] = {
    pingpong_config(192, Epilogues::All, Majors::Any),
    pingpong_config(176, Epilogues::WithoutMatrices, Majors::KMajorB),
};

}  // namespace hopper_gemm::library
