#include "tests/library_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

namespace hopper_gemm {
namespace {

using library::OperandMajor;

constexpr OperandMajor kMajors[] = {OperandMajor::K, OperandMajor::MN};
constexpr DataType kTypes[] = {DataType::BFloat16, DataType::Float16, DataType::Float32};

// Less than a tile of anything, odd, and of whole 16-byte chunks; more than one tile, with a part of another.
constexpr GemmShape kShapes[] = {{1, 1, 1}, {17, 40, 72}, {67, 70, 33}, {129, 72, 70}};
constexpr float kAlphas[] = {1, -2, 0};

/// Runs the plan and waits; what is wrong with that, or nothing.
std::string run(const GemmPlan& plan, GemmOperands operands, bool gives_workspace, const PlanTarget& target) {
  if (gives_workspace && plan.workspace_bytes() != 0) {
    operands.workspace_bytes = plan.workspace_bytes();
    operands.workspace = target.allocate(operands.workspace_bytes);
  }
  if (const Status run = plan.run(operands, target.stream); !run.ok()) return "run: " + run.message();
  const Status waited = target.wait();
  return waited.ok() ? "" : waited.message();
}

}  // namespace

std::string test_name(const PlanCase& plan_case) {
  std::string name = test_name(plan_case.problem);
  if (plan_case.description.column_major_d) name += "_column_major";
  if (plan_case.description.a_transposed) name += "_at";
  if (plan_case.description.b_transposed) name += "_bt";
  if (!plan_case.options.config.empty()) name += "_by_" + plan_case.options.config;
  if (!plan_case.options.programmatic_dependent_launch) name += "_serial";
  if (plan_case.options.workspace_limit_bytes == 0) name += "_without_a_workspace";
  if (plan_case.gives_workspace) name += "_with_its_own_workspace";
  return name;
}

std::string fault_of(const PlanCase& plan_case, const PlanTarget& target) {
  const LibraryGemm gemm(plan_case.problem, target.allocate);
  const std::string& config = plan_case.options.config;
  GemmPlan plan;
  const Status created = plan.create(gemm.descriptor(plan_case.description), plan_case.options);
  if (!config.empty() && created.code() == StatusCode::Unsupported) return "";
  if (!created.ok()) return "create: " + created.message();
  const bool is_empty = plan_case.problem.shape.m == 0 || plan_case.problem.shape.n == 0;
  const bool is_asked_for =
      config == "wgmma" ? !plan.config().starts_with("mma_sync_") : plan.config().starts_with(config);
  if (!is_empty && !is_asked_for) return "the plan is of " + plan.config();
  std::string fault = run(plan, gemm.operands(plan_case.description), plan_case.gives_workspace, target);
  if (fault.empty()) fault = gemm.fault();
  return fault.empty() ? "" : fault + "\n" + plan.explain();
}

std::string fault_of_refusals(const PlanTarget& target) {
  const LibraryProblem problem{.shape = {24, 40, 16}, .bias = Bias::PerRow, .beta = -2};
  const LibraryGemm gemm(problem, target.allocate);
  GemmPlan plan;
  if (const Status created = plan.create(gemm.descriptor({})); !created.ok()) return created.message();
  const std::vector<std::byte> before = gemm.bytes_of_outputs();
  const auto moved = [](const void* pointer, int bytes) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(pointer)) + bytes;
  };
  const std::pair<const char*, std::function<void(GemmOperands*)>> mistakes[] = {
      {"a is null", [](GemmOperands* operands) { operands->a = nullptr; }},
      {"b is null", [](GemmOperands* operands) { operands->b = nullptr; }},
      {"c is null", [](GemmOperands* operands) { operands->c = nullptr; }},
      {"d is null", [](GemmOperands* operands) { operands->d = nullptr; }},
      {"bias is null", [](GemmOperands* operands) { operands->bias = nullptr; }},
      {"a is misaligned", [&](GemmOperands* operands) { operands->a = moved(operands->a, 8); }},
      {"b is misaligned", [&](GemmOperands* operands) { operands->b = moved(operands->b, 2); }},
      {"c is misaligned", [&](GemmOperands* operands) { operands->c = moved(operands->c, 4); }},
      {"d is misaligned", [&](GemmOperands* operands) { operands->d = moved(operands->d, 8); }},
      {"bias is misaligned", [&](GemmOperands* operands) { operands->bias = moved(operands->bias, 1); }},
      {"d is a", [](GemmOperands* operands) { operands->a = operands->d; }},
      {"d overlaps b", [&](GemmOperands* operands) { operands->b = moved(operands->d, 16); }},
      {"d overlaps c", [&](GemmOperands* operands) { operands->c = moved(operands->d, 16); }},
      {"d overlaps the bias", [&](GemmOperands* operands) { operands->bias = moved(operands->d, 2); }},
  };
  for (const auto& [mistake, make] : mistakes) {
    GemmOperands operands = gemm.operands({});
    make(&operands);
    const Status refusal = plan.run(operands, target.stream);
    if (refusal.code() != StatusCode::InvalidArgument) {
      return fmt::format("{}, and run() says '{}'", mistake, refusal.message());
    }
    if (const Status waited = target.wait(); !waited.ok()) return waited.message();
    if (gemm.bytes_of_outputs() != before) return fmt::format("{}, and D was written", mistake);
  }
  // The same operands without a mistake.
  const std::string fault = run(plan, gemm.operands({}), false, target);
  return fault.empty() ? gemm.fault() : fault;
}

std::string fault_of_relocation(const PlanTarget& target) {
  // One whose tensor maps hold addresses, and one without any.
  for (const int remainder : {0, 1}) {
    LibraryProblem problem{
        .shape = {70, 72, 130}, .a = {.remainder = remainder}, .bias = Bias::PerRow, .beta = -2};
    const LibraryGemm first(problem, target.allocate);
    problem.values = OperandValues::Uniform;
    const LibraryGemm second(problem, target.allocate);
    GemmPlan plan;
    if (const Status created = plan.create(first.descriptor({})); !created.ok()) return created.message();
    for (const LibraryGemm* gemm : {&second, &first}) {
      if (const std::string fault = run(plan, gemm->operands({}), false, target); !fault.empty())
        return fault;
    }
    for (const LibraryGemm* gemm : {&first, &second}) {
      if (const std::string fault = gemm->fault(); !fault.empty()) return plan.config() + ": " + fault;
    }
  }
  return "";
}

// --- The grid --------------------------------------------------------------------------------------------------------

int choices_on(std::size_t axis) {
  constexpr std::array<int, kAxisCount> kChoices = {
      4, 2, 3, 3, 5, 4, 2, std::size(kShapes), std::size(kAlphas), 4, 3, 2, 2, 3, kOutputs};
  return kChoices.at(axis);
}

PlanCase case_at(const GridPoint& point) {
  const auto choice = [&point](Axis axis) { return static_cast<std::size_t>(point.at(axis)); };
  PlanCase result;
  LibraryProblem& problem = result.problem;
  problem.shape = kShapes[choice(kShape)];
  problem.major_a = kMajors[choice(kLayouts) / 2];
  problem.major_b = kMajors[choice(kLayouts) % 2];
  problem.input_type = kTypes[choice(kInputType)];
  problem.output_type = kTypes[choice(kOutputType)];
  problem.bias = static_cast<Bias>(choice(kBias));
  problem.bias_type = kTypes[choice(kBiasType)];
  problem.activation = static_cast<Activation>(choice(kActivation));
  problem.alpha = kAlphas[choice(kAlpha)];
  problem.beta = choice(kBeta) / 2 == 0 ? 0 : -2;
  problem.in_place = choice(kBeta) % 2 == 1;
  problem.batch_count = choice(kBatches) == 0 ? 1 : 3;
  problem.b.shared = problem.bias_shared = choice(kBatches) == 2;
  // Everything at 16 bytes; D and C anywhere; A at 4 bytes, and B's lines at 2.
  switch (choice(kMemory)) {
    case 1:
      problem.c.offset = 1;
      problem.d.remainder = 3;
      break;
    case 2: problem.a.offset = 2; break;
    case 3: problem.b.remainder = 1; break;
    default: break;
  }
  result.description = {.column_major_d = choice(kDOrder) == 1,
                        .a_transposed = choice(kATransposed) == 1,
                        .b_transposed = choice(kBTransposed) == 1};
  problem = with_outputs(problem, point.at(kOutput));
  if (problem.gated) result.description.column_major_d = false;
  return result;
}

std::vector<GridPoint> pairwise_points() {
  using Pair = std::array<int, 4>;  // two axes, a choice on each
  std::vector<Pair> missing;
  for (int first = 0; first < static_cast<int>(kAxisCount); ++first) {
    for (int second = first + 1; second < static_cast<int>(kAxisCount); ++second) {
      for (int x = 0; x < choices_on(static_cast<std::size_t>(first)); ++x) {
        for (int y = 0; y < choices_on(static_cast<std::size_t>(second)); ++y) {
          missing.push_back({first, x, second, y});
        }
      }
    }
  }
  const auto has = [](const GridPoint& point, const Pair& pair) {
    return point[static_cast<std::size_t>(pair[0])] == pair[1] &&
           point[static_cast<std::size_t>(pair[2])] == pair[3];
  };
  // Of points drawn at random, the one that has most of what is missing, again and again.
  constexpr int kCandidates = 50;
  std::mt19937 random(1);
  std::vector<GridPoint> points;
  while (!missing.empty()) {
    GridPoint best;
    std::int64_t most = -1;
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      GridPoint point(kAxisCount);
      for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
        point[axis] = static_cast<int>(random() % static_cast<unsigned>(choices_on(axis)));
      }
      const Pair& pair = missing[random() % missing.size()];
      point[static_cast<std::size_t>(pair[0])] = pair[1];
      point[static_cast<std::size_t>(pair[2])] = pair[3];
      const std::int64_t count =
          std::count_if(missing.begin(), missing.end(), [&](const Pair& each) { return has(point, each); });
      if (count <= most) continue;
      most = count;
      best = point;
    }
    std::erase_if(missing, [&](const Pair& pair) { return has(best, pair); });
    points.push_back(best);
  }
  return points;
}

// --- The fuzzer ------------------------------------------------------------------------------------------------------

namespace {

/// One of the configurations and families that can be asked for.
std::string draw_config(std::mt19937_64* random) {
  std::vector<std::string> names = {"wgmma", "mma_sync"};
  for (const library::Backend* backend : {&library::wgmma_backend(), &library::mma_sync_backend()}) {
    const std::vector<std::string> configs = backend->configs();
    names.insert(names.end(), configs.begin(), configs.end());
  }
  return names[(*random)() % names.size()];
}

class Draw {
 public:
  Draw(std::uint64_t seed, int max_extent) : random_(seed), max_extent_(max_extent) {}

  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  bool one_in(int count) { return below(count) == 0; }
  template <typename T, std::size_t kCount>
  T one_of(const T (&values)[kCount]) {
    return values[below(static_cast<int>(kCount))];
  }

  PlanCase plan_case() {
    PlanCase result;
    LibraryProblem& problem = result.problem;
    problem.shape = {extent(max_extent_), extent(max_extent_), extent(3 * max_extent_)};
    if (one_in(20)) problem.shape.k = 0;
    if (one_in(40)) problem.shape.m = 0;
    if (one_in(40)) problem.shape.n = 0;
    problem.batch_count = one_in(3) ? 1 + below(4) : 1;
    problem.input_type = kTypes[below(2)];
    problem.output_type = one_of(kTypes);
    problem.major_a = one_of(kMajors);
    problem.major_b = one_of(kMajors);
    // Half of the problems are such that TMA can move A and B, and most of those D.
    const bool is_aligned = one_in(2);
    problem.a = memory(is_aligned);
    problem.b = memory(is_aligned);
    problem.c = memory(one_in(2));
    problem.d = memory(is_aligned ? !one_in(4) : one_in(2));
    problem.a.shared = one_in(4);
    problem.b.shared = one_in(4);
    problem.bias = static_cast<Bias>(below(3));
    problem.bias_type = one_of(kTypes);
    problem.bias_offset = below(4);
    problem.bias_shared = one_in(2);
    problem.activation = one_in(2) ? Activation::None : static_cast<Activation>(below(5));
    constexpr float kFactors[] = {1, 1, 1, -2, 0.5F, 0};
    problem.alpha = one_of(kFactors);
    problem.beta = one_in(2) ? 0 : one_of(kFactors);
    problem.in_place = one_in(3);
    problem.c.shared = one_in(4) && !problem.in_place;
    problem.values = one_in(4) ? OperandValues::Uniform : OperandValues::Integers;
    if (one_in(8)) {
      problem.values = OperandValues::Special;
      // Of infinities the other functions are what their formulas happen to give.
      if (problem.activation != Activation::None) problem.activation = Activation::Relu;
    }
    result.description = {.column_major_d = one_in(3), .a_transposed = one_in(2), .b_transposed = one_in(2)};
    result.options.programmatic_dependent_launch = one_in(3);
    if (one_in(3)) result.options.config = draw_config(&random_);
    result.options.workspace_limit_bytes = 0;
    if (one_in(3)) {
      result.options.workspace_limit_bytes = kWorkspaceLimitBytes;
      result.gives_workspace = one_in(2);
      constexpr int kSmallExtent = 80;
      if (one_in(2)) problem.shape = {below(kSmallExtent), below(kSmallExtent), 1000 + below(2000)};
    }
    if (one_in(3)) {
      problem = with_outputs(problem, 1 + below(kOutputs - 1));
      problem.aux = memory(is_aligned ? !one_in(4) : one_in(2));
      if (problem.gated) result.description.column_major_d = false;
    }
    return result;
  }

  /// Makes a descriptor one that no GEMM can have.
  void spoil(GemmDescriptor* gemm) {
    MatrixLayout* const matrices[] = {&gemm->a, &gemm->b, &gemm->c, &gemm->d};
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    switch (below(12)) {
      case 0:
        *one_of<std::int64_t*>({&gemm->m, &gemm->n, &gemm->k, &gemm->batch_count}) = -1 - below(9);
        break;
      case 1: *one_of<std::int64_t*>({&gemm->m, &gemm->n, &gemm->k}) = kHuge - below(9); break;
      case 2: one_of(matrices)->leading_dimension = -2 - below(9); break;
      case 3: one_of(matrices)->batch_stride = -2 - below(9); break;
      case 4: one_of(matrices)->alignment_bytes = one_of({0, 1, 3, 24, -16}); break;
      case 5: one_of({&gemm->c, &gemm->d, &gemm->aux})->transposed = true; break;
      case 6: one_of(matrices)->order = static_cast<Layout>(2 + below(9)); break;
      case 7: gemm->activation = static_cast<Activation>(5 + below(9)); break;
      case 9:
        gemm->gated = true;
        gemm->n = 8;
        break;
      case 10:
        gemm->has_aux = true;
        gemm->aux.order = gemm->d.order == Layout::RowMajor ? Layout::ColumnMajor : Layout::RowMajor;
        break;
      case 8: gemm->input_type = static_cast<DataType>(2 + below(9)); break;
      default: gemm->bias = static_cast<Bias>(3 + below(9)); break;
    }
  }

 private:
  int extent(int max) {
    if (one_in(3)) return 1 + below(9);
    // About the edges of tiles and of blocks of K.
    if (one_in(2)) return 64 * (1 + below(max / 64)) - 8 + below(17);
    return 1 + below(max);
  }

  OperandMemory memory(bool is_aligned) {
    return {.offset = is_aligned ? 0 : below(8), .remainder = is_aligned ? 0 : below(8), .gap = below(4) * 8};
  }

  std::mt19937_64 random_;
  int max_extent_;
};

}  // namespace

std::string fuzz(std::uint64_t seed, int max_extent, const PlanTarget& target) {
  Draw draw(seed, max_extent);
  const PlanCase plan_case = draw.plan_case();
  std::string fault;
  if (draw.one_in(8)) {
    GemmDescriptor gemm =
        LibraryGemm({.shape = {1, 1, 1}}, target.allocate).descriptor(plan_case.description);
    draw.spoil(&gemm);
    const Status status = GemmPlan().create(gemm, plan_case.options);
    if (status.ok() || status.code() == StatusCode::CudaError) {
      fault = fmt::format("a descriptor that cannot be is taken: '{}'", status.message());
    }
  } else {
    fault = fault_of(plan_case, target);
  }
  return fault.empty() ? "" : fmt::format("seed {}, {}: {}", seed, test_name(plan_case), fault);
}

double fuzz_seconds(double otherwise) {
  const char* const seconds = std::getenv("HG_FUZZ_SECONDS");
  return seconds == nullptr ? otherwise : std::strtod(seconds, nullptr);
}

std::uint64_t first_fuzz_seed() {
  const char* const seed = std::getenv("HG_FUZZ_SEED");
  constexpr int kDecimal = 10;
  return seed == nullptr ? std::random_device()() : std::strtoull(seed, nullptr, kDecimal);
}

}  // namespace hopper_gemm
