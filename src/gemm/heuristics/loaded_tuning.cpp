#include "gemm/heuristics/loaded_tuning.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "common/quoted_text.hpp"

namespace hopper_gemm::library {
namespace {

using Tables = std::vector<std::shared_ptr<const TuningTable>>;

/// All tables, the newest first.
struct LoadedTables {
  std::mutex mutex;  // guards the other members
  Tables loaded;
  std::shared_ptr<const TuningTable> of_environment;
};

LoadedTables& tables() {
  // It is never destroyed, because threads may create plans while the process ends.
  static auto* const all = new LoadedTables;
  return *all;
}

/// The tables that are for this GPU, in the order in which they count. Plans that are being created keep them.
Tables tables_for(const Device& device) {
  LoadedTables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Tables result;
  const auto add = [&](const std::shared_ptr<const TuningTable>& table) {
    if (is_alike(table->sm_count, table->memory_bytes_per_us, device)) result.push_back(table);
  };
  for (const auto& table : all.loaded) add(table);
  if (all.of_environment != nullptr) add(all.of_environment);
  return result;
}

TuningKey key_of(const KernelArgs& args) {
  return {.shape = args.shape,
          .a_major = args.a.major,
          .b_major = args.b.major,
          .input_type = args.input_type,
          .output_type = args.epilogue.output_type,
          .bias = args.epilogue.bias_kind,
          .activation = args.epilogue.activation,
          .is_gated = args.epilogue.is_gated,
          .batch_count = args.batch_count};
}

}  // namespace

bool is_alike(int sm_count, double memory_bytes_per_us, const Device& device) {
  constexpr double kAlike = 0.1;
  return device.sm_count == sm_count &&
         std::abs(device.memory_bytes_per_us / memory_bytes_per_us - 1) < kAlike;
}

void add_tuning(const std::shared_ptr<const TuningTable>& table) {
  LoadedTables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Tables changed = {table};
  for (const auto& other : all.loaded) {
    if (other->path != table->path) changed.push_back(other);
  }
  all.loaded = std::move(changed);
}

void set_environment_tuning(std::shared_ptr<const TuningTable> table) {
  LoadedTables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.of_environment = std::move(table);
}

void clear_tuning() {
  LoadedTables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.loaded.clear();
  all.of_environment = nullptr;
}

std::string text_of(const LoadedChoice& choice) {
  return "the tuning file '" + one_line(choice.path) + "'" +
         (choice.is_for_operation ? "" : ", which has this shape for the product alone");
}

std::string refusal_of(const LoadedChoice& choice, const Status& status, const std::string& backend) {
  const bool is_known = status.code() != StatusCode::InvalidArgument;
  return text_of(choice) + " asks for " + choice.config + ": " +
         (status.ok() ? "its kernel cannot compute this problem"
          : is_known  ? status.message()
                      : "it is not of " + backend);
}

std::vector<LoadedChoice> loaded_choices(const KernelArgs& args, const Device& device) {
  const Tables candidates = tables_for(device);
  std::vector<LoadedChoice> choices;
  if (candidates.empty()) return choices;
  const auto look_up = [&](const TuningKey& key, bool is_for_operation) {
    for (const auto& table : candidates) {
      const auto found = table->configs.find(key);
      if (found != table->configs.end()) choices.push_back({found->second, table->path, is_for_operation});
    }
  };
  const TuningKey key = key_of(args);
  // No entry has an auxiliary output, because matmul cannot measure one.
  if (!args.epilogue.has_aux) look_up(key, true);
  const TuningKey product = {.shape = key.shape,
                             .a_major = key.a_major,
                             .b_major = key.b_major,
                             .input_type = key.input_type,
                             .output_type = key.input_type};
  if (args.batch_count == 1 && (args.epilogue.has_aux || !(key == product))) look_up(product, false);
  return choices;
}

}  // namespace hopper_gemm::library
