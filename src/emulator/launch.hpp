#pragma once

#include <driver_types.h>

#include <functional>

#include "emulator/api.hpp"
#include "emulator/emulator.hpp"

// The host's side of an emulated launch, behind include/cuda_runtime_api.h.
namespace hopper_gemm {
namespace emulator HG_EMULATOR_API {

/// The options that configure() got last.
const EmulationOptions& configured();

cudaError_t device_attribute(int* value, cudaDeviceAttr attribute);
cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t max_active_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t& config);

/// Runs the kernel to its end. Each thread calls `thread` once. After a failure, last_report() says what was wrong.
cudaError_t launch(const void* kernel, const cudaLaunchConfig_t& config, const std::function<void()>& thread);

/// The host waits for all launches, or enqueues something else than a launch, behind which none begins early.
void end_launches();

/// A function of the driver, or null where the emulator has none of that name.
void* driver_function(const char* name);
/// The same, for tensor maps alone.
void* tensor_map_function(const char* name);

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
