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

/// Runs the kernel until it lets the next launch begin (griddepcontrol.launch_dependents), otherwise to its end. Each
/// thread calls `thread` once. A launch without cudaLaunchAttributeProgrammaticStreamSerialization begins after the end
/// of all launches ahead; one that has it runs beside what is left of them. cudaErrorLaunchFailure: this launch or one
/// ahead has failed, which ends all, and last_report() says what was wrong. cudaErrorInvalidConfiguration: so it does.
cudaError_t launch(const void* kernel, const cudaLaunchConfig_t& config, std::function<void()> thread);

/// Runs all launches to their ends: the host waits for them, or enqueues something else than a launch, behind which none
/// begins early. cudaErrorLaunchFailure: one has failed after its call, and no call has returned that yet.
cudaError_t end_launches();

/// A function of the driver, or null where the emulator has none of that name.
void* driver_function(const char* name);
/// The same, for tensor maps alone.
void* tensor_map_function(const char* name);

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
