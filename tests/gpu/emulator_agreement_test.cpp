// The GPU and the emulated one, on the same operands: where they differ, the GPU is right.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "benchmark/shapes.hpp"
#include "common/device_buffer.hpp"
#include "common/matrix_lines.hpp"
#include "common/watchdog.hpp"
#include "emulator/emulated_ladder.hpp"
#include "emulator/emulator.hpp"
#include "registry/registry.hpp"
#include "require_gpu.hpp"
#include "tests/ladder_problems.hpp"
#include "verify/element.cuh"

namespace hopper_gemm {
namespace {

constexpr GemmShape kAgreementShapes[] = {{256, 512, 320}, {129, 257, 264}, {17, 40, 72}};
// No multiple of a chunk, and alpha and beta, for those that take them.
constexpr GemmShape kRaggedShape = {131, 133, 77};

/// A kernel by its place among all of them, at one problem.
struct Agreement {
  std::size_t place;
  GemmProblem problem;
};

std::string test_name(const Agreement& test) {
  const KernelInfo& kernel = all_kernels()[test.place];
  // Names of the Hopper ladder's tests are those from before there was another.
  if (!is_of_ladder(kernel, "ampere") && !is_of_ladder(kernel, "simt")) {
    return std::string(kernel.name) + "_" + to_string(test.problem.shape);
  }
  return test_name(kernel) + "_" + test_name(LadderProblem{test.problem});
}

void PrintTo(const Agreement& test, std::ostream* out) { *out << test_name(test); }

std::vector<Agreement> agreements() {
  std::vector<Agreement> tests;
  for (std::size_t place = 0; place < all_kernels().size(); ++place) {
    const KernelInfo& kernel = all_kernels()[place];
    if (kernel.version == "best") continue;  // what it runs depends on the number of SMs
    const bool is_simt = is_of_ladder(kernel, "simt");
    // Of the simt ladder one that copies by itself and one by cp.async.
    if (is_simt && kernel.version != "simt.3" && kernel.version != "simt.8") continue;
    for (const DataType type : input_types(kernel)) {
      for (const GemmShape& shape : kAgreementShapes) {
        tests.push_back({place, plain_problem(kernel, shape, type)});
      }
      if (!is_general(kernel)) continue;
      GemmProblem scaled = plain_problem(kernel, kRaggedShape, type);
      scaled.alpha = 2;
      scaled.beta = -2;
      tests.push_back({place, scaled});
      if (is_simt) continue;
      scaled.output_type = DataType::Float32;
      tests.push_back({place, scaled});
    }
  }
  return tests;
}

using Bytes = std::vector<std::byte>;

Bytes random_matrix(std::int64_t size, DataType type, bool integers, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Bytes matrix(static_cast<std::size_t>(size * size_of(type)));
  for (std::int64_t i = 0; i < size; ++i) {
    const float value = integers ? static_cast<float>(static_cast<int>(random() % 3) - 1) : normal(random);
    store_element(matrix.data(), type, i, value);
  }
  return matrix;
}

/// A product's operands, packed to the pitches that TMA takes.
struct Product {
  GemmProblem problem;
  LeadingDimensions pitch;
  Bytes a;
  Bytes b;
  Bytes c;

  Product(const GemmProblem& p, bool integers)
      : problem(p),
        pitch(make_leading_dimensions(p)),
        a(random_matrix(lines_of_a(p).lines * pitch.a, p.input_type, integers, 1)),
        b(random_matrix(lines_of_b(p).lines * pitch.b, p.input_type, integers, 2)),
        c(random_matrix(d_size(), p.output_type, integers, 3)) {}

  std::int64_t d_size() const { return problem.shape.m * pitch.d; }

  GemmArgs args(const void* a_at, const void* b_at, const void* c_at, void* d_at) const {
    return args_of(problem, a_at, pitch.a, b_at, pitch.b, d_at, pitch.d, c_at, pitch.d);
  }
};

Status run_on_gpu(const KernelInfo& kernel, const Product& product, Bytes* d) {
  DeviceBuffer<std::byte> a;
  DeviceBuffer<std::byte> b;
  DeviceBuffer<std::byte> c;
  DeviceBuffer<std::byte> result;
  const auto copy = [](const Bytes& matrix, DeviceBuffer<std::byte>* buffer) -> Status {
    HG_RETURN_IF_ERROR(buffer->allocate(static_cast<std::int64_t>(matrix.size())));
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpy(buffer->data(), matrix.data(), matrix.size(), cudaMemcpyHostToDevice));
    return {};
  };
  HG_RETURN_IF_ERROR(copy(product.a, &a));
  HG_RETURN_IF_ERROR(copy(product.b, &b));
  HG_RETURN_IF_ERROR(copy(product.c, &c));
  d->assign(product.c.size(), std::byte{0});
  HG_RETURN_IF_ERROR(copy(*d, &result));
  HG_RETURN_IF_ERROR(kernel.launch(product.args(a.data(), b.data(), c.data(), result.data()), nullptr));
  HG_RETURN_IF_ERROR(wait_with_watchdog(nullptr, 20));
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpy(d->data(), result.data(), d->size(), cudaMemcpyDeviceToHost));
  return {};
}

Status run_on_emulator(const KernelInfo& kernel, const Product& product, Bytes* d) {
  emulator::EmulationOptions options;
  options.seed = 1;
  emulator::configure(options);
  const auto copy = [](const Bytes& matrix) {
    void* const memory = emulator::allocate(matrix.size());
    std::memcpy(memory, matrix.data(), matrix.size());
    return memory;
  };
  d->assign(product.c.size(), std::byte{0});
  void* const result = copy(*d);
  const GemmArgs args = product.args(copy(product.a), copy(product.b), copy(product.c), result);
  const Status status = kernel.launch(args, nullptr);
  std::memcpy(d->data(), result, d->size());
  emulator::free_all();
  return status;
}

class EmulatorAgreement : public testing::TestWithParam<Agreement> {
 protected:
  void run(bool integers, Bytes* gpu, Bytes* emulated) {
    const auto& [place, problem] = GetParam();
    const Product product(problem, integers);
    const Status on_gpu = run_on_gpu(all_kernels()[place], product, gpu);
    ASSERT_TRUE(on_gpu.ok()) << on_gpu.message();
    const Status on_emulator = run_on_emulator(emulator::emulated_kernels()[place], product, emulated);
    ASSERT_TRUE(on_emulator.ok()) << on_emulator.message();
  }
};

TEST_P(EmulatorAgreement, InEveryBitOfIntegers) {
  HG_SKIP_UNLESS_IT_RUNS(all_kernels()[GetParam().place]);
  Bytes gpu;
  Bytes emulated;
  ASSERT_NO_FATAL_FAILURE(run(true, &gpu, &emulated));
  EXPECT_EQ(gpu, emulated);
}

// The tensor core cuts off bits where the emulator rounds, and a GPU's fp32 adds products that it has not rounded. All
// are then rounded to the output's type: to 16 bits mostly to the same, to fp32 seldom.
TEST_P(EmulatorAgreement, InNearlyAllElementsOfNormalData) {
  HG_SKIP_UNLESS_IT_RUNS(all_kernels()[GetParam().place]);
  const DataType type = GetParam().problem.output_type;
  Bytes gpu;
  Bytes emulated;
  ASSERT_NO_FATAL_FAILURE(run(false, &gpu, &emulated));
  const std::size_t elements = gpu.size() / static_cast<std::size_t>(size_of(type));
  std::size_t different = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const double x = load_element(gpu.data(), type, static_cast<std::int64_t>(i));
    const double y = load_element(emulated.data(), type, static_cast<std::int64_t>(i));
    if (x == y) continue;
    ++different;
    // A neighbour in the type, but for sums that nearly cancel.
    ASSERT_LE(std::fabs(x - y), std::fabs(x) * 2 * unit_roundoff(type) + 1e-4) << "element " << i;
  }
  RecordProperty("different_elements", static_cast<int>(different));
  RecordProperty("elements", static_cast<int>(elements));
  // fp16 has 8 times as many numbers as bf16 to tell sums apart by.
  const std::size_t most = type == DataType::BFloat16  ? elements / 100
                           : type == DataType::Float16 ? elements / 50
                                                       : elements;
  EXPECT_LT(different, most + 2);
}

INSTANTIATE_TEST_SUITE_P(AllVersions, EmulatorAgreement, testing::ValuesIn(agreements()),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace hopper_gemm
