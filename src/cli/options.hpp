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
    List,      ///< show all versions
    Explain,   ///< show what the library chooses for `shapes`
    Probe,     ///< measure the GPU itself
    ShowText,  ///< show `text`: help or version
  };
  /// The device that the kernels run on.
  enum class Device {
    Any,  ///< the GPU if there is one that can run them, otherwise the emulator
    Gpu,
    Emulator,
  };
  Action action = Action::Run;
  std::string text;
  std::vector<const KernelInfo*> kernels;  ///< in the registry's order, each once; 0 and ceiling always run
  Device device = Device::Any;
  std::vector<GemmShape> shapes;  ///< in the order given, each once; empty: the device's own
  std::vector<Mode> modes;
  std::optional<DataType>
      type;  ///< of A, B and, unless an operation has its own, D; empty: each kernel's own
  std::optional<Layout> a_layout;                     ///< likewise
  std::optional<Layout> b_layout;                     ///< likewise
  std::vector<Operation> operations = {Operation{}};  ///< at least one; a suite such as epilogues has several
  DataKind data = DataKind::Normal;
  std::string data_name;
  bool data_given = false;
  int rounds = 0;
  int rest_ms = 0;  ///< before a burst
  std::uint64_t seed = 0;
  bool verify = true;
  bool baselines = true;     ///< tune: measure cuBLAS and the ceiling beside the configurations
  bool profile = false;      ///< mark one launch for a profiler instead of measuring
  bool tune = false;         ///< measure every configuration of the kernels, instead of their own choice
  std::string config_path;   ///< the file of configurations that `tune` found; empty: none
  std::string against_path;  ///< another build of the library, which best races; empty: none
  std::string csv_path;      ///< empty: none
  std::string json_path;     ///< likewise
  std::string html_path;     ///< likewise
  int seeds = 0;             ///< schedules on the emulator, from `seed` on; 0: not given
  std::string trace_path;    ///< empty: none

  // Versions and options that only one device takes, as they were typed.
  std::vector<std::string> gpu_versions;      ///< "0", "ceiling", "cutlass"
  std::vector<std::string> gpu_options;       ///< "--mode"
  std::vector<std::string> emulator_options;  ///< "--seeds"
};

/// Reads the command line. `kernels`: the versions that it may name. InvalidArgument: one sentence that says what the
/// user asked, what is possible and what to type instead.
Status parse_options(int argc, const char* const* argv, std::span<const KernelInfo> kernels,
                     Options* options);

}  // namespace hopper_gemm
