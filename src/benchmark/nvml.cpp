#include "benchmark/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace hopper_gemm {
namespace {

constexpr NvmlApi::Return kSuccess = 0;
constexpr int kClockSm = 1;         // NVML_CLOCK_SM
constexpr int kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU

template <typename Function>
Status look_up(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) return unsupported(std::string("NVML has no ") + name);
  return {};
}

}  // namespace

Status load_nvml(const char* library, NvmlApi* api) {
  // The library is never closed, because the function pointers live as long as the process.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unsupported(std::string(library) + " cannot be loaded");
  HG_RETURN_IF_ERROR(look_up(handle, "nvmlErrorString", &api->nvmlErrorString));
  HG_RETURN_IF_ERROR(look_up(handle, "nvmlInit_v2", &api->nvmlInit_v2));
  HG_RETURN_IF_ERROR(look_up(handle, "nvmlShutdown", &api->nvmlShutdown));
  HG_RETURN_IF_ERROR(look_up(handle, "nvmlSystemGetDriverVersion", &api->nvmlSystemGetDriverVersion));
  HG_RETURN_IF_ERROR(
      look_up(handle, "nvmlDeviceGetHandleByPciBusId_v2", &api->nvmlDeviceGetHandleByPciBusId_v2));
  HG_RETURN_IF_ERROR(look_up(handle, "nvmlDeviceGetClockInfo", &api->nvmlDeviceGetClockInfo));
  HG_RETURN_IF_ERROR(
      look_up(handle, "nvmlDeviceGetTotalEnergyConsumption", &api->nvmlDeviceGetTotalEnergyConsumption));
  HG_RETURN_IF_ERROR(look_up(handle, "nvmlDeviceGetTemperature", &api->nvmlDeviceGetTemperature));
  return {};
}

Status Nvml::open(const NvmlApi& api, const std::string& pci_bus_id, std::unique_ptr<Nvml>* nvml) {
  if (const NvmlApi::Return result = api.nvmlInit_v2(); result != kSuccess) {
    return {StatusCode::CudaError, std::string("nvmlInit_v2: ") + api.nvmlErrorString(result)};
  }
  std::unique_ptr<Nvml> opened(new Nvml(api));
  const NvmlApi::Return result = api.nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.c_str(), &opened->device_);
  if (result != kSuccess) {
    return {StatusCode::CudaError, "NVML finds no GPU at " + pci_bus_id + ": " + api.nvmlErrorString(result)};
  }
  *nvml = std::move(opened);
  return {};
}

Nvml::~Nvml() { api_.nvmlShutdown(); }

std::optional<std::string> Nvml::driver_version() const {
  std::array<char, 80> version{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  if (api_.nvmlSystemGetDriverVersion(version.data(), static_cast<unsigned int>(version.size())) !=
      kSuccess) {
    return std::nullopt;
  }
  return std::string(version.data());
}

std::optional<double> Nvml::sm_clock_mhz() const {
  unsigned int clock = 0;
  if (api_.nvmlDeviceGetClockInfo(device_, kClockSm, &clock) != kSuccess) return std::nullopt;
  return clock;
}

std::optional<double> Nvml::temperature_celsius() const {
  unsigned int temperature = 0;
  if (api_.nvmlDeviceGetTemperature(device_, kTemperatureGpu, &temperature) != kSuccess) return std::nullopt;
  return temperature;
}

std::optional<double> Nvml::total_energy_joules() const {
  unsigned long long millijoules = 0;
  if (api_.nvmlDeviceGetTotalEnergyConsumption(device_, &millijoules) != kSuccess) return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

}  // namespace hopper_gemm
