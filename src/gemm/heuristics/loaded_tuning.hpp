#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gemm/heuristics/loaded_files.hpp"
#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// What an entry of a tuning file is for: a problem as the kernels get it, with a row-major D.
struct TuningKey {
  GemmShape shape{};
  OperandMajor a_major = OperandMajor::K;
  OperandMajor b_major = OperandMajor::K;
  DataType input_type = DataType::BFloat16;
  DataType output_type = DataType::BFloat16;
  Bias bias = Bias::None;
  Activation activation = Activation::None;
  bool is_gated = false;
  int batch_count = 1;

  friend bool operator<(const TuningKey& x, const TuningKey& y) { return x.fields() < y.fields(); }
  friend bool operator==(const TuningKey& x, const TuningKey& y) { return x.fields() == y.fields(); }

 private:
  std::tuple<int, int, int, OperandMajor, OperandMajor, DataType, DataType, Bias, Activation, bool, int>
  fields() const {
    return {shape.m,     shape.n, shape.k,    a_major,  b_major,    input_type,
            output_type, bias,    activation, is_gated, batch_count};
  }
};

/// The contents of a tuning file: the configurations that were the fastest on a GPU.
struct TuningTable : MeasuredOnGpu {
  std::map<TuningKey, std::string> configs;
};

/// The tables that loaded_choices() looks into.
LoadedFiles<TuningTable>& loaded_tuning();

/// What a table says about a problem.
struct LoadedChoice {
  std::string config;
  std::string path;
  bool is_for_operation;  ///< the entry is for the problem's operation; otherwise it is for the product alone
};

/// "the tuning file 'tuned.json'", in a line of GemmPlan::explain().
std::string origin_of(const LoadedChoice& choice);

/// "the tuning file 'tuned.json' asks for X: it is not of wgmma": why a back end does not take the choice. status: of the
/// search for its configuration, which is OK if the configuration exists but its kernel lacks something.
std::string refusal_of(const LoadedChoice& choice, const Status& status, const std::string& backend);

/// The choices of the tables that are for such a GPU, the best first. An entry for the problem's own operation is better
/// than one for the product alone, and an entry of a newer table is better than one of an older table.
std::vector<LoadedChoice> loaded_choices(const KernelArgs& args, const Device& device);

}  // namespace hopper_gemm::library
