// This takes the place of the kernels for GPUs in a program that is built without them (CMake's HG_GPU_KERNELS is off).
// Those kernels take minutes to compile, and a machine without a GPU runs all of them on the emulator anyway.

#include "emulator/emulated_ladder.hpp"
#include "ladder/hopper/wgmma_ceiling.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {

std::span<const KernelInfo> all_kernels() { return emulator::emulated_kernels(); }

bool has_gpu_kernels() { return false; }

Status launch_wgmma_ceiling(GemmShape, int, const __nv_bfloat16*, float*, cudaStream_t) {
  return unsupported("the wgmma ceiling is not compiled into this program");
}
std::int64_t wgmma_ceiling_operand_elems() { return 0; }
std::int64_t wgmma_ceiling_sink_elems(int) { return 0; }
double wgmma_ceiling_flops(GemmShape) { return 0; }

}  // namespace hopper_gemm
