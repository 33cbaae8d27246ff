#pragma once

namespace hopper_gemm {

/// What looking a function of the CUDA driver up came to.
struct DriverEntryPoint {
  void* function = nullptr;  ///< null: not there
  int driver_version = 0;    ///< as cudaDriverGetVersion reports it, 0 when no driver is installed
};

/// Looks a function up in the installed driver, as it was in that CUDA version (12000 is 12.0), without linking against
/// libcuda.
DriverEntryPoint find_driver_function(const char* name, int cuda_version);

}  // namespace hopper_gemm
