#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "hopper_gemm/gemm.hpp"
#include "hopper_gemm/status.hpp"
#include "tests/library_gemm.hpp"

// Problems for GemmPlan, on whatever GPU: the emulated one, or a real one.
namespace hopper_gemm {

/// A problem by one of the descriptors that mean it.
struct PlanCase {
  LibraryProblem problem;
  Description description;
  GemmOptions options;
  bool gives_workspace = false;  ///< or leaves it to the library
};

std::string test_name(const PlanCase& plan_case);

/// Where plans run.
struct PlanTarget {
  Allocate allocate;
  std::function<Status()> wait;  ///< for what was run, whose fault it gives
  cudaStream_t stream = nullptr;
};

/// What is wrong with the plan or its result, or nothing. A configuration that was asked for may be none for
/// the problem.
std::string fault_of(const PlanCase& plan_case, const PlanTarget& target);

/// Whatever is wrong with how a plan takes operands that it must refuse, or nothing: it has to say so, and to leave D
/// alone.
std::string fault_of_refusals(const PlanTarget& target);

/// The same of one plan that is run on operands in other places.
std::string fault_of_relocation(const PlanTarget& target);

// The cases that tests go through are points of a grid.

/// Its axes. A GPU takes all points of those before kAlpha.
enum Axis : std::size_t {
  kLayouts,
  kInputType,
  kOutputType,
  kBias,
  kActivation,
  kBeta,
  kDOrder,
  kShape,
  kAlpha,
  kMemory,
  kBiasType,
  kATransposed,
  kBTransposed,
  kBatches,
  kOutput,
  kAxisCount
};

using GridPoint = std::vector<int>;  ///< a choice on each axis

/// How many choices an axis has.
int choices_on(std::size_t axis);

PlanCase case_at(const GridPoint& point);

/// So few points that every two choices on two axes come together in one of them.
std::vector<GridPoint> pairwise_points();

/// Draws one problem, now and then one that has to be refused, and says what is wrong with what the library
/// makes of it, or nothing. The same seed, the same problem. max_extent: about the largest M and N, and a
/// third of the largest K.
std::string fuzz(std::uint64_t seed, int max_extent, const PlanTarget& target);

/// Seconds that the environment variable HG_FUZZ_SECONDS gives a fuzzer, or those.
double fuzz_seconds(double otherwise);

/// The seed that the environment variable HG_FUZZ_SEED names, or one that nobody has drawn before.
std::uint64_t first_fuzz_seed();

}  // namespace hopper_gemm
