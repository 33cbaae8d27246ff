#include "common/driver_entry_point.hpp"

#include <cuda_runtime_api.h>

namespace hopper_gemm {

DriverEntryPoint find_driver_function(const char* name, int cuda_version) {
  DriverEntryPoint found;
  if (cudaDriverGetVersion(&found.driver_version) != cudaSuccess || found.driver_version == 0) return found;
  cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
  void* function = nullptr;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(
      name, &function, static_cast<unsigned>(cuda_version), cudaEnableDefault, &query);
#else
  static_cast<void>(cuda_version);
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &query);
#endif
  if (error == cudaSuccess && query == cudaDriverEntryPointSuccess) found.function = function;
  return found;
}

}  // namespace hopper_gemm
