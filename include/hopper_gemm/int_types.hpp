#pragma once

/// std::int64_t under a name that NVRTC can give it too, which has no <cstdint>; of the others no libcu++ is asked.
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
