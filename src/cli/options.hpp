#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "benchmark/operation.hpp"
#include "common/gemm_shape.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"
#include "registry/registry.hpp"
#include "verify/fill.hpp"

namespace hopper_gemm {

/// What the user asked `matmul` to do.
struct Options {
  enum class Action {
    Run,
    List,      ///< show the versions there are
    Explain,   ///< show what the library chooses for `shapes`
    ShowText,  ///< show `text`: help or version
  };
  /// What the kernels run on.
  enum class Device {
    Any,  ///< the GPU where there is one that can run them, the emulator where there is none
    Gpu,
    Emulator,
  };
  Action action = Action::Run;
  std::string text;
  std::vector<const KernelInfo*>
      kernels;  ///< in the registry's order, each once; 0 and ceiling are run always
  Device device = Device::Any;
  std::vector<GemmShape> shapes;  ///< in the order given, each once; empty: the device's own
  std::vector<Mode> modes;
  std::optional<DataType>
      type;  ///< of A, B and, unless an operation has another, D; empty: each kernel's own
  std::optional<Layout> a_layout;                     ///< likewise
  std::optional<Layout> b_layout;                     ///< likewise
  std::vector<Operation> operations = {Operation{}};  ///< one at least; several of the suite epilogues
  DataKind data = DataKind::Normal;
  std::string data_name;
  bool data_given = false;
  int rounds = 0;
  std::uint64_t seed = 0;
  bool verify = true;
  bool profile = false;      ///< mark one launch for a profiler instead of measuring
  bool tune = false;         ///< measure every configuration of the kernels, instead of their own choice
  std::string config_path;   ///< of configurations that `tune` found; empty: none
  std::string against_path;  ///< of another build of the library, which best is to race; empty: none
  std::string csv_path;      ///< empty: none
  std::string json_path;     ///< likewise
  std::string html_path;     ///< likewise
  int seeds = 0;             ///< schedules on the emulator, from `seed` on; 0: not given
  std::string trace_path;    ///< empty: none

  // Which of what was given only one device knows, as it was typed.
  std::vector<std::string> gpu_versions;      ///< "0", "ceiling", "cutlass"
  std::vector<std::string> gpu_options;       ///< "--mode"
  std::vector<std::string> emulator_options;  ///< "--seeds"
};

/// Reads the command line against these kernels. InvalidArgument: one sentence that says what was
/// asked, what is possible and what to type instead.
Status parse_options(int argc, const char* const* argv, std::span<const KernelInfo> kernels,
                     Options* options);

}  // namespace hopper_gemm
