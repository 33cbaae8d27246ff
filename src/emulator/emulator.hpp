#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/api.hpp"

/// An NVIDIA Hopper GPU in software: it runs the project's kernels, compiled from the same sources, on any
/// CPU, and says what they do wrong. README.md in this folder says what it models. One launch at a time, on
/// one thread.
namespace hopper_gemm {
namespace emulator HG_EMULATOR_API {

struct EmulatedCapability {
  int major = 9;
  int minor = 0;
};

struct EmulationOptions {
  std::uint64_t seed = 0;  ///< of every choice between what may happen next: the same seed, the same run
  int sms = 4;             ///< of the emulated GPU: what persistent kernels size their grids by
  bool traces = false;     ///< keep what trace_json() says
  /// What the emulated GPU says that it is, which decides on its shared memory too; its instructions are all
  /// there anyway.
  EmulatedCapability compute_capability = {};
  /// The id of the CUDA context, not 0. A new number is a new context, as after cudaDeviceReset().
  std::uint64_t context = 1;
  /// The encoder of tensor maps refuses strides that the manual of cuTensorMapEncodeTiled does not allow and drivers
  /// take: each has to be a multiple of the one before it, and to span the dimension below.
  bool strict_tensor_maps = false;
};

/// For the launches to come.
void configure(const EmulationOptions& options);

/// Steps that the last launch took.
std::uint64_t steps();

/// Launches so far.
std::uint64_t launches();

/// What was wrong in the last launch, with who, where and when; empty if nothing was.
const char* last_report();

/// Device memory, 4096-byte aligned, between pages that fault: kernels that leave it are reported. The host may use it
/// directly. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// One of them. False: `memory` is none.
bool free(void* memory);
void free_all();

/// The last launch's timeline in the Chrome trace format, if the options asked for it.
std::string trace_json();

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
