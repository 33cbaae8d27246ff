#include "gemm/heuristics/loaded_tuning.hpp"

#include "common/quoted_text.hpp"

namespace hopper_gemm::library {
namespace {

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

LoadedFiles<TuningTable>& loaded_tuning() {
  // It is never destroyed, because threads may create plans while the process ends.
  static auto* const tables = new LoadedFiles<TuningTable>;
  return *tables;
}

std::string origin_of(const LoadedChoice& choice) {
  return "the tuning file '" + one_line(choice.path) + "'" +
         (choice.is_for_operation ? "" : ", which has this shape for the product alone");
}

std::string refusal_of(const LoadedChoice& choice, const Status& status, const std::string& backend) {
  const bool is_known = status.code() != StatusCode::InvalidArgument;
  return origin_of(choice) + " asks for " + choice.config + ": " +
         (status.ok() ? "its kernel cannot compute this problem"
          : is_known  ? status.message()
                      : "it is not of " + backend);
}

std::vector<LoadedChoice> loaded_choices(const KernelArgs& args, const Device& device) {
  const auto candidates = loaded_tuning().measured_on(device);
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
