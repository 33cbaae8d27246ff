#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The NVML entry points that the benchmark uses, with their names in the NVML API reference. They are declared here
/// and looked up at run time, so that a build needs no nvml.h and a run needs no driver.
struct NvmlApi {
  using Return = int;  ///< nvmlReturn_t; 0 is NVML_SUCCESS
  struct DeviceOpaque;
  using Device = DeviceOpaque*;  ///< nvmlDevice_t

  const char* (*nvmlErrorString)(Return result) = nullptr;
  Return (*nvmlInit_v2)() = nullptr;
  Return (*nvmlShutdown)() = nullptr;
  Return (*nvmlSystemGetDriverVersion)(char* version, unsigned int length) = nullptr;
  /// bus_id: "domain:bus:device.function", as cudaDeviceGetPCIBusId spells it.
  Return (*nvmlDeviceGetHandleByPciBusId_v2)(const char* bus_id, Device* device) = nullptr;
  /// type: nvmlClockType_t; clock in MHz.
  Return (*nvmlDeviceGetClockInfo)(Device device, int type, unsigned int* clock) = nullptr;
  /// Millijoules since the driver was loaded; the counter moves every 20 to 100 ms.
  Return (*nvmlDeviceGetTotalEnergyConsumption)(Device device, unsigned long long* energy) = nullptr;
  /// sensor: nvmlTemperatureSensors_t; degrees Celsius.
  Return (*nvmlDeviceGetTemperature)(Device device, int sensor, unsigned int* temperature) = nullptr;
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// Opens the shared library and looks up every entry point. Unsupported: a file or symbol is missing; the message names
/// it.
Status load_nvml(const char* library, NvmlApi* api);

/// One GPU as NVML sees it. A reading that NVML refuses is empty and no error, because the benchmark can do without
/// power and clocks.
class Nvml {
 public:
  /// Initialises NVML and finds the GPU on that PCI bus. CudaError: NVML failed; the message has its answer.
  static Status open(const NvmlApi& api, const std::string& pci_bus_id, std::unique_ptr<Nvml>* nvml);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;
  std::optional<double> sm_clock_mhz() const;
  std::optional<double> temperature_celsius() const;
  /// A counter that moves in steps; see mean_watts().
  std::optional<double> total_energy_joules() const;

 private:
  explicit Nvml(const NvmlApi& api) : api_(api) {}

  NvmlApi api_;
  NvmlApi::Device device_ = nullptr;
};

}  // namespace hopper_gemm
