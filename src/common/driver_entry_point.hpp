#pragma once

namespace hopper_gemm {

/// A function of the CUDA driver that was looked up.
struct DriverEntryPoint {
  void* function = nullptr;  ///< null: the driver does not have it
  int driver_version = 0;    ///< as cudaDriverGetVersion reports it; 0 if no driver is installed
};

/// Looks a function up in the installed driver, without linking libcuda. cuda_version: the version of the function's
/// interface (12000 is CUDA 12.0).
DriverEntryPoint find_driver_function(const char* name, int cuda_version);

}  // namespace hopper_gemm
