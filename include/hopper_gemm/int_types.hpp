#pragma once

/// std::int64_t. NVRTC has no <cstdint>, so it takes the type from libcu++. Other compilers need no libcu++.
#ifdef __CUDACC_RTC__
#include <cuda/std/cstdint>

namespace hopper_gemm {
using cuda::std::int64_t;
}
#else
#include <cstdint>

namespace hopper_gemm {
using std::int64_t;
}
#endif
