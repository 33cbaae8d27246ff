// The GPU and the emulated one, on the same operands: where they differ, the GPU is right.

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "benchmark/shapes.hpp"
#include "device_buffer.hpp"
#include "emulator/emulated_ladder.hpp"
#include "emulator/emulator.hpp"
#include "emulator/number_formats.hpp"
#include "registry.hpp"
#include "require_hopper.hpp"
#include "watchdog.hpp"

namespace hopper_gemm {
namespace {

constexpr GemmShape kAgreementShapes[] = {{256, 512, 320}, {129, 257, 264}, {17, 40, 72}};

using Param = std::tuple<std::size_t, GemmShape>;  // the kernel's place in the ladder

std::string param_name(const testing::TestParamInfo<Param>& param) {
  return std::string(hopper_ladder()[std::get<0>(param.param)].name) + "_" +
         to_string(std::get<1>(param.param));
}

std::vector<__nv_bfloat16> random_matrix(std::int64_t size, bool integers, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<__nv_bfloat16> matrix(static_cast<std::size_t>(size));
  for (__nv_bfloat16& element : matrix) {
    const float value = integers ? static_cast<float>(static_cast<int>(random() % 3) - 1) : normal(random);
    element = __float2bfloat16(value);
  }
  return matrix;
}

/// A product's operands and its result, packed to the pitches that TMA takes.
struct Product {
  GemmShape shape;
  LeadingDimensions pitch;
  std::vector<__nv_bfloat16> a;
  std::vector<__nv_bfloat16> b;

  Product(const GemmShape& s, bool integers)
      : shape(s),
        pitch(make_leading_dimensions({s})),
        a(random_matrix(s.m * pitch.a, integers, 1)),
        b(random_matrix(s.n * pitch.b, integers, 2)) {}

  std::int64_t d_size() const { return shape.m * pitch.d; }
};

using Bits = std::vector<std::uint16_t>;

Status run_on_gpu(const KernelInfo& kernel, const Product& product, Bits* d) {
  DeviceBuffer<__nv_bfloat16> a;
  DeviceBuffer<__nv_bfloat16> b;
  DeviceBuffer<__nv_bfloat16> result;
  HG_RETURN_IF_ERROR(a.allocate(static_cast<std::int64_t>(product.a.size())));
  HG_RETURN_IF_ERROR(b.allocate(static_cast<std::int64_t>(product.b.size())));
  HG_RETURN_IF_ERROR(result.allocate(product.d_size()));
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpy(a.data(), product.a.data(), a.size_bytes(), cudaMemcpyHostToDevice));
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpy(b.data(), product.b.data(), b.size_bytes(), cudaMemcpyHostToDevice));
  HG_RETURN_IF_CUDA_ERROR(cudaMemset(result.data(), 0, result.size_bytes()));
  const GemmArgs args = {product.shape,   a.data(),      product.pitch.a, b.data(),
                         product.pitch.b, result.data(), product.pitch.d};
  HG_RETURN_IF_ERROR(kernel.launch(args, nullptr));
  HG_RETURN_IF_ERROR(wait_with_watchdog(nullptr, 20));
  d->resize(static_cast<std::size_t>(product.d_size()));
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpy(d->data(), result.data(), result.size_bytes(), cudaMemcpyDeviceToHost));
  return {};
}

Status run_on_emulator(const KernelInfo& kernel, const Product& product, Bits* d) {
  emulator::EmulationOptions options;
  options.seed = 1;
  emulator::configure(options);
  const auto copy = [](const std::vector<__nv_bfloat16>& matrix) {
    void* const memory = emulator::allocate(matrix.size() * sizeof(__nv_bfloat16));
    std::memcpy(memory, matrix.data(), matrix.size() * sizeof(__nv_bfloat16));
    return static_cast<__nv_bfloat16*>(memory);
  };
  d->assign(static_cast<std::size_t>(product.d_size()), 0);
  void* const result = emulator::allocate(d->size() * sizeof(std::uint16_t));
  const GemmArgs args = {product.shape,   copy(product.a), product.pitch.a,
                         copy(product.b), product.pitch.b, static_cast<__nv_bfloat16*>(result),
                         product.pitch.d};
  const Status status = kernel.launch(args, nullptr);
  std::memcpy(d->data(), result, d->size() * sizeof(std::uint16_t));
  emulator::free_all();
  return status;
}

class EmulatorAgreement : public testing::TestWithParam<Param> {
 protected:
  void run(bool integers, Bits* gpu, Bits* emulated) {
    const auto& [place, shape] = GetParam();
    const Product product(shape, integers);
    const Status on_gpu = run_on_gpu(hopper_ladder()[place], product, gpu);
    ASSERT_TRUE(on_gpu.ok()) << on_gpu.message();
    const Status on_emulator = run_on_emulator(emulator::emulated_kernels()[place], product, emulated);
    ASSERT_TRUE(on_emulator.ok()) << on_emulator.message();
  }
};

TEST_P(EmulatorAgreement, InEveryBitOfIntegers) {
  HG_SKIP_WITHOUT_HOPPER();
  Bits gpu;
  Bits emulated;
  ASSERT_NO_FATAL_FAILURE(run(true, &gpu, &emulated));
  EXPECT_EQ(gpu, emulated);
}

// The tensor core cuts off bits where the emulator rounds. Both are then rounded to bf16, mostly to the same.
TEST_P(EmulatorAgreement, InNearlyAllElementsOfNormalData) {
  HG_SKIP_WITHOUT_HOPPER();
  Bits gpu;
  Bits emulated;
  ASSERT_NO_FATAL_FAILURE(run(false, &gpu, &emulated));
  std::size_t different = 0;
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    if (gpu[i] == emulated[i]) continue;
    ++different;
    const float x = emulator::bf16_to_float(gpu[i]);
    const float y = emulator::bf16_to_float(emulated[i]);
    // A neighbour in bf16, but for sums that nearly cancel.
    ASSERT_LE(std::fabs(x - y), std::fabs(x) * 0x1p-7F + 1e-4F) << "element " << i;
  }
  RecordProperty("different_elements", static_cast<int>(different));
  RecordProperty("elements", static_cast<int>(gpu.size()));
  EXPECT_LT(different, gpu.size() / 100 + 2);
}

INSTANTIATE_TEST_SUITE_P(AllVersions, EmulatorAgreement,
                         testing::Combine(testing::Range(std::size_t{0}, hopper_ladder().size()),
                                          testing::ValuesIn(kAgreementShapes)),
                         param_name);

}  // namespace
}  // namespace hopper_gemm
