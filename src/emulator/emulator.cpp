#include "emulator/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "emulator/launch.hpp"
#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr std::size_t kPlainSharedBytes = 48 << 10;  // for a kernel that has not asked for more
constexpr unsigned kMaxClusterSize = 8;              // every sm_90 GPU takes this size
constexpr unsigned kMaxThreads = 1024;

EmulationOptions options;
Trace last_trace;
std::map<const void*, std::size_t> shared_bytes_allowed;
std::string launch_error;
bool failure_is_unseen =
    false;  ///< launch_error is of a launch that ran on after its call, and no call has said so
std::uint64_t launch_count = 0;
unsigned launches_since_configure = 0;

/// An SM's shared memory. A CTA may have all of it but the driver's 1 KiB, from sm_80 on.
std::size_t shared_bytes_of_sm() {
  const auto [major, minor] = options.compute_capability;
  switch (major * 10 + minor) {
    case 75: return 64 << 10;
    case 80:
    case 87: return 164 << 10;
    case 86:
    case 89: return 100 << 10;
    default: return 228 << 10;
  }
}

std::size_t max_shared_bytes() {
  return shared_bytes_of_sm() - (options.compute_capability.major < 8 ? 0 : kSharedWindow);
}

unsigned cluster_size_of(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) return config.attrs[i].val.clusterDim.x;
  }
  return 1;
}

/// Whether the launch may begin before the one ahead has ended.
bool overlaps(const cudaLaunchConfig_t& config) {
  return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const cudaLaunchAttribute& attribute) {
    return attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization &&
           attribute.val.programmaticStreamSerializationAllowed != 0;
  });
}

std::string fault_of(const void* kernel, const cudaLaunchConfig_t& config) {
  const unsigned cluster_size = cluster_size_of(config);
  const auto allowed = shared_bytes_allowed.find(kernel);
  // A GPU that was configured later may have less than the kernel was allowed before.
  const std::size_t most = allowed == shared_bytes_allowed.end()
                               ? kPlainSharedBytes
                               : std::min(allowed->second, max_shared_bytes());
  if (config.gridDim.y != 1 || config.gridDim.z != 1 || config.blockDim.y != 1 || config.blockDim.z != 1) {
    return "the emulator takes grids and CTAs of one dimension";
  }
  if (config.gridDim.x == 0 || config.blockDim.x == 0 || config.blockDim.x > kMaxThreads) {
    return fmt::format("a launch of {} CTAs of {} threads", config.gridDim.x, config.blockDim.x);
  }
  if (cluster_size == 0 || cluster_size > kMaxClusterSize || config.gridDim.x % cluster_size != 0) {
    return fmt::format("a grid of {} CTAs in clusters of {}", config.gridDim.x, cluster_size);
  }
  if (config.dynamicSmemBytes > most) {
    return fmt::format("{} bytes of dynamic shared memory, and the kernel may have {}",
                       config.dynamicSmemBytes, most);
  }
  return "";
}

void finish_launches() {
  if (machine.finish()) return;
  launch_error = machine.report();
  failure_is_unseen = true;
}

}  // namespace

void configure(const EmulationOptions& new_options) {
  finish_launches();
  options = new_options;
  last_trace = {};
  launches_since_configure = 0;
  if (!failure_is_unseen) launch_error.clear();
}

const EmulationOptions& configured() { return options; }

std::uint64_t steps() {
  finish_launches();
  return machine.steps_of_last_launch();
}

std::uint64_t launches() { return launch_count; }

const char* last_report() {
  end_launches();
  return launch_error.c_str();
}

void* allocate(std::size_t bytes) {
  finish_launches();
  return device_heap.allocate(bytes);
}

bool free(void* memory) {
  finish_launches();
  return device_heap.free(memory);
}

void free_all() {
  finish_launches();
  device_heap.free_all();
}

cudaError_t end_launches() {
  finish_launches();
  return std::exchange(failure_is_unseen, false) ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t device_attribute(int* value, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = options.compute_capability.major; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = options.compute_capability.minor; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *value = options.sms; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(kPlainSharedBytes); return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(max_shared_bytes());
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(shared_bytes_of_sm());
      return cudaSuccess;
    // The clock and the memory of an H200.
    case cudaDevAttrClockRate: *value = 1'980'000; return cudaSuccess;
    case cudaDevAttrMemoryClockRate: *value = 3'201'000; return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 6144; return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) > max_shared_bytes()) return cudaErrorInvalidValue;
  shared_bytes_allowed[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

cudaError_t max_active_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t& config) {
  *clusters = fault_of(kernel, config).empty() ? options.sms / static_cast<int>(cluster_size_of(config)) : 0;
  return cudaSuccess;
}

cudaError_t launch(const void* kernel, const cudaLaunchConfig_t& config, std::function<void()> thread) {
  const bool may_overlap = overlaps(config);
  if (!may_overlap) finish_launches();
  if (std::exchange(failure_is_unseen, false)) return cudaErrorLaunchFailure;
  launch_error = fault_of(kernel, config);
  if (!launch_error.empty()) return cudaErrorInvalidConfiguration;
  ++launch_count;
  machine.configure({options.seed, options.sms, options.max_steps, options.traces ? &last_trace : nullptr});
  auto launch = std::make_unique<Launch>();
  launch->ordinal = ++launches_since_configure;
  launch->grid = {config.gridDim.x, 1, 1};
  launch->block = {config.blockDim.x, 1, 1};
  launch->cluster_size = static_cast<int>(cluster_size_of(config));
  launch->shared_bytes = static_cast<std::uint32_t>(config.dynamicSmemBytes);
  launch->overlaps = may_overlap;
  launch->body = std::move(thread);
  if (machine.run(std::move(launch))) return cudaSuccess;
  launch_error = machine.report();
  return cudaErrorLaunchFailure;
}

std::string trace_json() {
  finish_launches();
  // Trace Event Format: a process for each CTA, a thread for each of its lanes. Complete events of a lane must nest;
  // those that overlap are pairs of asynchronous events.
  nlohmann::json events = nlohmann::json::array();
  std::set<unsigned> ctas;
  std::map<std::pair<unsigned, std::string>, int> lanes;
  const auto name = [&events](const char* what, unsigned cta, int lane, const std::string& text) {
    events.push_back({{"ph", "M"}, {"pid", cta}, {"tid", lane}, {"name", what}, {"args", {{"name", text}}}});
  };
  int number = 0;
  for (const Trace::Event& event : last_trace.events()) {
    // CTAs of the first launch have their own numbers.
    constexpr unsigned kMostCtas = 1'000'000;
    const unsigned process = (event.launch - 1) * kMostCtas + event.cta;
    if (ctas.insert(process).second) {
      const std::string of_launch = event.launch == 1 ? "" : fmt::format("launch {}, ", event.launch);
      name("process_name", process, 0, fmt::format("{}CTA {}", of_launch, event.cta));
    }
    const auto [lane, is_new] = lanes.try_emplace({process, event.lane}, static_cast<int>(lanes.size()) + 1);
    if (is_new) name("thread_name", process, lane->second, event.lane);
    nlohmann::json json = {{"ph", "X"},
                           {"pid", process},
                           {"tid", lane->second},
                           {"ts", event.begin},
                           {"name", event.name},
                           {"cat", event.lane},
                           {"args", {{"detail", event.detail}}}};
    if (event.overlaps) {
      json["ph"] = "b";
      json["id"] = ++number;
      events.push_back(json);
      json["ph"] = "e";
      json["ts"] = event.end;
    } else {
      json["dur"] = std::max<std::uint64_t>(1, event.end - event.begin);
    }
    events.push_back(std::move(json));
  }
  return nlohmann::json{{"traceEvents", events}}.dump() + '\n';
}

}  // namespace hopper_gemm::emulator
