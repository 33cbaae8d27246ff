// Must not compile for sm_90: see tests/CMakeLists.txt.

#include <ptx/wgmma.cuh>

__global__ void kernel() { hopper_gemm::ptx::wgmma_fence(); }
