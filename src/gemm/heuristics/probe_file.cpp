#include "gemm/heuristics/probe_file.hpp"

#include <nlohmann/json.hpp>

#include "gemm/heuristics/json_file.hpp"

namespace hopper_gemm::library {
namespace {

constexpr JsonFormat kProbeFormat = {
    .kind = "the probe file", .name = "hopper-gemm probe", .version = 1, .fault_of_array = ""};

}  // namespace

Status read_probe_file(const std::string& path, std::shared_ptr<const ProbedRates>* rates) {
  nlohmann::json json;
  HG_RETURN_IF_ERROR(read_json_file(kProbeFormat, path, &json));
  const auto made = std::make_shared<ProbedRates>();
  made->path = path;
  JsonReader fields(json, "");
  made->gpu = fields.text("gpu");
  made->sm_count = fields.positive("sm_count");
  JsonReader measured(fields.object("rates"), " in rates");
  // What an H100 has, a hundredth and a hundred times of it. Other rates would give times without a meaning.
  made->memory_bytes_per_us =
      measured.number_or_null("memory_peak_bytes_per_us", 3e4, 3e8).value_or(Device{}.memory_bytes_per_us);
  made->l2_bytes_per_us = measured.number("l2_bytes_per_us", 1e5, 1e9);
  made->sm_flops_per_us = measured.number("sm_flops_per_us", 7e4, 7e8);
  made->sm_clock_mhz = measured.number_or_null("sm_clock_mhz", 20, 20000);
  for (const JsonReader* reader : {&fields, &measured}) {
    if (!reader->fault().empty()) {
      return invalid_argument(name_of_file(kProbeFormat, path) + " " + reader->fault());
    }
  }
  *rates = made;
  return {};
}

Status check_probe_device(const ProbedRates& rates, const Device& device) {
  return check_gpu(kProbeFormat, rates, device);
}

Status use_environment_probe(const Device& device) {
  static auto* const file =
      new EnvironmentFile<ProbedRates>("HGEMM_PROBE_FILE", kProbeFormat, read_probe_file, &loaded_probes());
  return file->use(device);
}

}  // namespace hopper_gemm::library
