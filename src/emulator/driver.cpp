// The functions of the driver that the library looks up by name.

#include <cuda.h>

#include <bit>
#include <cstdint>
#include <string_view>

#include "emulator/launch.hpp"

namespace hopper_gemm::emulator {
namespace {

CUresult get_current_context(CUcontext* context) {
  *context = std::bit_cast<CUcontext>(static_cast<std::uintptr_t>(configured().context));
  return CUDA_SUCCESS;
}

CUresult get_context_id(CUcontext context, unsigned long long* id) {
  *id = std::bit_cast<std::uintptr_t>(context);
  return CUDA_SUCCESS;
}

}  // namespace

void* driver_function(const char* name) {
  const std::string_view function = name;
  if (function == "cuCtxGetCurrent") return reinterpret_cast<void*>(get_current_context);
  if (function == "cuCtxGetId") return reinterpret_cast<void*>(get_context_id);
  return tensor_map_function(name);
}

}  // namespace hopper_gemm::emulator
