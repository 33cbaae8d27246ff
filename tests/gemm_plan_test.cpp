#include "hopper_gemm/gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulator/emulator.hpp"
#include "fake_backends.hpp"
#include "gemm/plan.hpp"
#include "tests/allocation_limit.hpp"

namespace hopper_gemm::library {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr Device kH200 = {.id = 0, .major = 9, .minor = 0, .sm_count = 132, .max_shared_bytes = 232448};
constexpr Device kA100 = {.id = 0, .major = 8, .minor = 0, .sm_count = 108, .max_shared_bytes = 166912};

template <typename T = void>
T* at(std::uintptr_t address) {
  return std::bit_cast<T*>(address);
}

GemmDescriptor small_gemm() {
  GemmDescriptor gemm;
  gemm.m = 16;
  gemm.n = 24;
  gemm.k = 8;
  return gemm;
}

GemmOperands small_operands() {
  GemmOperands operands;
  operands.a = at(0x10000);
  operands.b = at(0x20000);
  operands.d = at(0x30000);
  return operands;
}

class GemmPlanTest : public testing::Test {
 protected:
  GemmPlanTest() {
    reset_fake_backends();
    unsetenv("HGEMM_CONFIG");
  }
  ~GemmPlanTest() override { unsetenv("HGEMM_CONFIG"); }

  Status create(const GemmDescriptor& gemm, const GemmOptions& options = {}, const Device& device = kH200) {
    const std::array<const Backend*, 2> backends = {&wgmma_backend(), &mma_sync_backend()};
    CheckedGemm checked;
    HG_RETURN_IF_ERROR(CheckedGemm::create(gemm, options, &checked));
    return Plan::create(checked, options, device, backends, &plan_);
  }
  Status run(const GemmOperands& operands) { return plan_->run(operands, nullptr); }

  std::shared_ptr<const Plan> plan_;
};

// --- What is worth measuring ---------------------------------------------------------------------------------------

TEST_F(GemmPlanTest, RanksTheConfigurationsOfTheBackEndThatItWouldChoose) {
  std::vector<std::string> configs;
  const auto promising = [&](const GemmDescriptor& gemm, std::size_t most) {
    return promising_configs(gemm, {}, kH200, all_backends(), most, &configs);
  };
  ASSERT_TRUE(promising(small_gemm(), 16).ok());
  EXPECT_THAT(configs, testing::ElementsAre("wgmma_fake"));
  ASSERT_TRUE(promising(small_gemm(), 0).ok());
  EXPECT_THAT(configs, IsEmpty());
  fake_wgmma.can_implement = unsupported("not this one");
  ASSERT_TRUE(promising(small_gemm(), 16).ok());
  EXPECT_THAT(configs, testing::ElementsAre("mma_sync_fake"));
  fake_mma.can_implement = unsupported("nor that");
  EXPECT_EQ(promising(small_gemm(), 16).code(), StatusCode::Unsupported);
  fake_wgmma.can_implement = {StatusCode::CudaError, "broken"};
  EXPECT_EQ(promising(small_gemm(), 16).code(), StatusCode::CudaError);

  reset_fake_backends();
  GemmDescriptor without_product = small_gemm();
  without_product.k = 0;
  ASSERT_TRUE(promising(without_product, 16).ok());
  EXPECT_THAT(configs, testing::ElementsAre("mma_sync_fake"));
  GemmDescriptor empty = small_gemm();
  empty.n = 0;
  ASSERT_TRUE(promising(empty, 16).ok());
  EXPECT_THAT(configs, IsEmpty());
}

// --- What no GEMM can have -------------------------------------------------------------------------------------------

struct Fault {
  std::function<void(GemmDescriptor&)> make;
  StatusCode code;
  const char* message;
};

TEST_F(GemmPlanTest, NamesTheFieldAndSaysWhatIsAllowed) {
  constexpr auto kInvalid = StatusCode::InvalidArgument;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::vector<Fault> faults = {
      {[](auto& gemm) { gemm.m = -1; }, kInvalid, "m is -1, but must be 0 to 2147483391"},
      {[](auto& gemm) { gemm.n = 2147483392; }, kInvalid, "n is 2147483392, but must be 0 to 2147483391"},
      {[](auto& gemm) { gemm.k = -2; }, kInvalid, "k is -2, but must be 0 to 2147483391"},
      {[](auto& gemm) { gemm.batch_count = -1; }, kInvalid, "batch_count is -1, but must be 0 to 2147483647"},
      {[](auto& gemm) { gemm.input_type = DataType{3}; }, kInvalid,
       "input_type is 3, but its values are 0 to 2"},
      {[](auto& gemm) { gemm.output_type = DataType{-1}; }, kInvalid,
       "output_type is -1, but its values are 0 to 2"},
      {[](auto& gemm) { gemm.bias = Bias{3}; }, kInvalid, "bias is 3, but its values are 0 to 2"},
      {[](auto& gemm) { gemm.bias_type = DataType{9}; }, kInvalid,
       "bias_type is 9, but its values are 0 to 2"},
      {[](auto& gemm) { gemm.activation = Activation{5}; }, kInvalid,
       "activation is 5, but its values are 0 to 4"},
      {[](auto& gemm) { gemm.input_type = DataType::Float32; }, StatusCode::Unsupported,
       "input_type is fp32, but the library multiplies only bf16 and fp16"},
      {[](auto& gemm) { gemm.a.order = Layout{2}; }, kInvalid, "a.order is 2, but its values are 0 to 1"},
      {[](auto& gemm) { gemm.a.leading_dimension = 7; }, kInvalid,
       "a.leading_dimension is 7, which is shorter than a line of 8"},
      {[](auto& gemm) { gemm.b.leading_dimension = 0; }, kInvalid,
       "b.leading_dimension is 0, which is shorter than a line of 24"},
      {[](auto& gemm) {
         gemm.b.transposed = true;
         gemm.b.leading_dimension = 7;
       },
       kInvalid, "b.leading_dimension is 7, which is shorter than a line of 8"},
      {[](auto& gemm) {
         gemm.d.order = Layout::ColumnMajor;
         gemm.d.leading_dimension = 15;
       },
       kInvalid, "d.leading_dimension is 15, which is shorter than a line of 16"},
      {[](auto& gemm) { gemm.c.leading_dimension = -2; }, kInvalid,
       "c.leading_dimension is -2, which is shorter than a line of 24"},
      {[](auto& gemm) { gemm.a.batch_stride = -2; }, kInvalid,
       "a.batch_stride is -2, but must be kPacked, 0 or more"},
      {[](auto& gemm) { gemm.a.alignment_bytes = 1; }, kInvalid,
       "a.alignment_bytes is 1, but must be a power of two, and at least an element's 2"},
      {[](auto& gemm) {
         gemm.output_type = DataType::Float32;
         gemm.d.alignment_bytes = 2;
       },
       kInvalid, "d.alignment_bytes is 2, but must be a power of two, and at least an element's 4"},
      {[](auto& gemm) { gemm.b.alignment_bytes = 24; }, kInvalid,
       "b.alignment_bytes is 24, but must be a power of two"},
      {[](auto& gemm) { gemm.c.transposed = true; }, kInvalid,
       "c.transposed is true, but only a and b can be transposed"},
      {[](auto& gemm) { gemm.d.transposed = true; }, kInvalid,
       "d.transposed is true, but only a and b can be transposed"},
      {[](auto& gemm) {
         gemm.batch_count = 2;
         gemm.d.batch_stride = 0;
       },
       kInvalid, "d.batch_stride is 0, so batches of D overlap"},
      {[](auto& gemm) {
         gemm.batch_count = 2;
         gemm.d.batch_stride = 16 * 24 - 1;
       },
       kInvalid, "d.batch_stride is 383, so batches of D overlap"},
      {[](auto& gemm) {
         gemm.bias = Bias::PerRow;
         gemm.bias_batch_stride = -3;
       },
       kInvalid, "bias_batch_stride is -3, but must be kPacked, 0 or more"},
      {[](auto& gemm) { gemm.a.leading_dimension = kMax; }, StatusCode::Unsupported,
       "a spans 2^63 bytes or more, which is more memory than can be addressed"},
      {[](auto& gemm) { gemm.d.leading_dimension = kMax / 16; }, StatusCode::Unsupported,
       "d spans 2^63 bytes"},
      {[](auto& gemm) {
         gemm.batch_count = 2;
         gemm.b.batch_stride = kMax / 2;
       },
       StatusCode::Unsupported, "b spans 2^63 bytes"},
      {[](auto& gemm) {
         gemm.batch_count = 2147483647;
         gemm.m = gemm.n = 2147483391;
       },
       StatusCode::Unsupported, "spans 2^63 bytes"},
      {[](auto& gemm) {
         gemm.batch_count = 2;
         gemm.bias = Bias::PerRow;
         gemm.bias_batch_stride = kMax - 1;
       },
       StatusCode::Unsupported, "the bias spans 2^63 bytes"},
  };
  for (const Fault& fault : faults) {
    GemmDescriptor gemm = small_gemm();
    fault.make(gemm);
    const Status status = create(gemm);
    EXPECT_EQ(status.code(), fault.code) << status.message() << " for " << fault.message;
    EXPECT_THAT(status.message(), HasSubstr(fault.message));
  }
  EXPECT_EQ(plan_, nullptr);
}

TEST_F(GemmPlanTest, LooksAtNothingThatDoesNotCount) {
  GemmDescriptor gemm = small_gemm();
  gemm.d.batch_stride = 0;      // there is one batch
  gemm.bias_batch_stride = -3;  // and no bias
  gemm.c.order = Layout::ColumnMajor;
  EXPECT_TRUE(create(gemm).ok());
}

// --- What the kernels are given --------------------------------------------------------------------------------------

TEST_F(GemmPlanTest, GivesKernelsRowMajorDAndOperandsByWhatIsContiguous) {
  for (const Layout a_order : {Layout::RowMajor, Layout::ColumnMajor}) {
    for (const Layout b_order : {Layout::RowMajor, Layout::ColumnMajor}) {
      for (int bits = 0; bits < 8; ++bits) {
        GemmDescriptor gemm = small_gemm();
        gemm.a.order = a_order;
        gemm.a.transposed = (bits & 1) != 0;
        gemm.b.order = b_order;
        gemm.b.transposed = (bits & 2) != 0;
        const bool transposes = (bits & 4) != 0;
        gemm.d.order = gemm.c.order = transposes ? Layout::ColumnMajor : Layout::RowMajor;
        gemm.bias = Bias::PerRow;
        gemm.a.alignment_bytes = 4;
        gemm.b.alignment_bytes = 8;
        ASSERT_TRUE(create(gemm).ok());
        GemmOperands operands = small_operands();
        operands.c = at(0x40000);
        operands.bias = at(0x50000);
        operands.alpha = 2;
        operands.beta = 3;
        ASSERT_TRUE(run(operands).ok());

        const bool a_is_k_major = (a_order == Layout::RowMajor) != gemm.a.transposed;
        const bool b_is_k_major = (b_order == Layout::ColumnMajor) != gemm.b.transposed;
        const OperandArgs a = {operands.a, a_is_k_major ? OperandMajor::K : OperandMajor::MN,
                               a_is_k_major ? 8 : 16, 0};
        const OperandArgs b = {operands.b, b_is_k_major ? OperandMajor::K : OperandMajor::MN,
                               b_is_k_major ? 8 : 24, 0};
        const OperandArgs& first = transposes ? b : a;
        const OperandArgs& second = transposes ? a : b;
        const KernelArgs& args = fake_wgmma.launched.back();
        EXPECT_EQ(args.shape, (transposes ? GemmShape{24, 16, 8} : GemmShape{16, 24, 8}));
        EXPECT_EQ(args.batch_count, 1);
        EXPECT_EQ(args.a.data, first.data);
        EXPECT_EQ(args.a.major, first.major);
        EXPECT_EQ(args.a.leading_dimension, first.leading_dimension);
        EXPECT_EQ(args.b.data, second.data);
        EXPECT_EQ(args.b.major, second.major);
        EXPECT_EQ(args.b.leading_dimension, second.leading_dimension);
        EXPECT_EQ(args.epilogue.bias_kind, transposes ? Bias::PerColumn : Bias::PerRow);
        EXPECT_EQ(args.epilogue.ldd, transposes ? 16 : 24);
        EXPECT_EQ(args.epilogue.ldc, transposes ? 16 : 24);
        EXPECT_EQ(args.epilogue.d, operands.d);
        EXPECT_EQ(args.epilogue.c, operands.c);
        EXPECT_EQ(args.epilogue.bias, operands.bias);
        EXPECT_EQ(args.epilogue.alpha, 2);
        EXPECT_EQ(args.epilogue.beta, 3);

        const Problem& problem = fake_wgmma.prepared.back();
        EXPECT_EQ(problem.alignments.a, transposes ? 8 : 4);
        EXPECT_EQ(problem.alignments.b, transposes ? 4 : 8);
        EXPECT_EQ(problem.args.a.major, first.major);
        EXPECT_EQ(problem.args.a.data, nullptr);
      }
    }
  }
}

// bf16 of small integers, as bits.
std::uint16_t bf16(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

float value_of(const void* data, DataType type, std::int64_t index) {
  if (type == DataType::Float32) return static_cast<const float*>(data)[index];
  return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(data)[index]} << 16);
}

// What a back end does, by what kernel_args.hpp says of each field.
void compute(const KernelArgs& args) {
  const auto at_operand = [&args](const OperandArgs& operand, int batch, int line, int k) {
    const bool k_major = operand.major == OperandMajor::K;
    const std::int64_t index =
        k_major ? line * operand.leading_dimension + k : k * operand.leading_dimension + line;
    return value_of(operand.data, args.input_type, batch * operand.batch_stride + index);
  };
  const GemmEpilogue& epilogue = args.epilogue;
  for (int batch = 0; batch < args.batch_count; ++batch) {
    for (int m = 0; m < args.shape.m; ++m) {
      for (int n = 0; n < args.shape.n; ++n) {
        float sum = 0;
        for (int k = 0; k < args.shape.k; ++k)
          sum += at_operand(args.a, batch, m, k) * at_operand(args.b, batch, n, k);
        float result = epilogue.alpha * sum;
        if (epilogue.beta != 0) {
          const std::int64_t index = batch * epilogue.c_batch_stride + m * epilogue.ldc + n;
          result += epilogue.beta * value_of(epilogue.c, epilogue.output_type, index);
        }
        if (epilogue.bias_kind != Bias::None) {
          const std::int64_t index =
              batch * epilogue.bias_batch_stride + (epilogue.bias_kind == Bias::PerRow ? m : n);
          result += value_of(epilogue.bias, epilogue.bias_type, index);
        }
        static_cast<float*>(epilogue.d)[batch * epilogue.d_batch_stride + m * epilogue.ldd + n] = result;
      }
    }
  }
}

// Where the element of a batch's op(X) lies, by what gemm.hpp says of each field.
std::int64_t index_in(const MatrixLayout& layout, std::int64_t op_rows, std::int64_t op_cols,
                      std::int64_t batch, std::int64_t row, std::int64_t col) {
  if (layout.transposed) {
    std::swap(op_rows, op_cols);
    std::swap(row, col);
  }
  const bool row_major = layout.order == Layout::RowMajor;
  const std::int64_t pitch =
      layout.leading_dimension == kPacked ? (row_major ? op_cols : op_rows) : layout.leading_dimension;
  const std::int64_t stride =
      layout.batch_stride == kPacked ? pitch * (row_major ? op_rows : op_cols) : layout.batch_stride;
  return batch * stride + (row_major ? row * pitch + col : col * pitch + row);
}

TEST_F(GemmPlanTest, MeansWhatTheDescriptorSays) {
  constexpr std::size_t kElems = 4000;
  std::mt19937 random(1);
  const auto draw = [&random](int min, int max) {
    return std::uniform_int_distribution<int>(min, max)(random);
  };
  std::vector<std::uint16_t> a(kElems);
  std::vector<std::uint16_t> b(kElems);
  std::vector<float> c(kElems);
  std::vector<float> bias(kElems);
  for (auto* values : {&a, &b})
    std::generate(values->begin(), values->end(), [&] { return bf16(draw(-3, 3)); });
  for (auto* values : {&c, &bias}) std::generate(values->begin(), values->end(), [&] { return draw(-9, 9); });

  for (int i = 0; i < 3000; ++i) {
    GemmDescriptor gemm;
    gemm.m = draw(1, 6);
    gemm.n = draw(1, 6);
    gemm.k = draw(0, 4);
    gemm.batch_count = draw(1, 3);
    gemm.output_type = DataType::Float32;
    gemm.bias = Bias{draw(0, 2)};
    gemm.bias_type = DataType::Float32;
    gemm.bias_batch_stride =
        std::array<std::int64_t, 3>{0, kPacked, 9}.at(static_cast<std::size_t>(draw(0, 2)));
    for (MatrixLayout* layout : {&gemm.a, &gemm.b, &gemm.c, &gemm.d}) {
      layout->order = Layout{draw(0, 1)};
      layout->alignment_bytes = 4;
      if (draw(0, 1) == 0) layout->leading_dimension = draw(6, 9);
      if (draw(0, 2) == 0) layout->batch_stride = draw(54, 60);
      if (draw(0, 2) == 0 && layout != &gemm.d) layout->batch_stride = 0;
    }
    gemm.a.transposed = draw(0, 1) == 1;
    gemm.b.transposed = draw(0, 1) == 1;
    gemm.c.order = gemm.d.order;
    ASSERT_TRUE(create(gemm).ok());

    std::vector<float> d(kElems, -1000);
    std::vector<float> expected = d;
    GemmOperands operands;
    operands.a = a.data();
    operands.b = b.data();
    operands.c = c.data();
    operands.d = d.data();
    operands.bias = gemm.bias == Bias::None ? nullptr : bias.data();
    operands.alpha = static_cast<float>(draw(0, 2));
    operands.beta = static_cast<float>(draw(0, 2));
    const Status status = run(operands);
    ASSERT_TRUE(status.ok()) << status.message();
    compute(plan_->config() == "mma_sync_fake" || operands.alpha == 0 ? fake_mma.launched.back()
                                                                      : fake_wgmma.launched.back());

    for (std::int64_t batch = 0; batch < gemm.batch_count; ++batch) {
      for (std::int64_t m = 0; m < gemm.m; ++m) {
        for (std::int64_t n = 0; n < gemm.n; ++n) {
          float sum = 0;
          for (std::int64_t k = 0; k < gemm.k; ++k) {
            sum += value_of(a.data(), gemm.input_type, index_in(gemm.a, gemm.m, gemm.k, batch, m, k)) *
                   value_of(b.data(), gemm.input_type, index_in(gemm.b, gemm.k, gemm.n, batch, k, n));
          }
          float result = operands.alpha * sum;
          result +=
              operands.beta * c[static_cast<std::size_t>(index_in(gemm.c, gemm.m, gemm.n, batch, m, n))];
          const std::int64_t length = gemm.bias == Bias::PerRow ? gemm.m : gemm.n;
          const std::int64_t stride = gemm.bias_batch_stride == kPacked ? length : gemm.bias_batch_stride;
          if (gemm.bias == Bias::PerRow) result += bias[static_cast<std::size_t>(batch * stride + m)];
          if (gemm.bias == Bias::PerColumn) result += bias[static_cast<std::size_t>(batch * stride + n)];
          expected[static_cast<std::size_t>(index_in(gemm.d, gemm.m, gemm.n, batch, m, n))] = result;
        }
      }
    }
    ASSERT_EQ(d, expected) << plan_->explain();
  }
}

TEST_F(GemmPlanTest, FillsInPackedStrides) {
  GemmDescriptor gemm = small_gemm();
  gemm.batch_count = 3;
  gemm.a.leading_dimension = 10;
  gemm.b.batch_stride = 0;
  gemm.c.order = gemm.d.order = Layout::ColumnMajor;
  gemm.c.batch_stride = 0;
  gemm.bias = Bias::PerColumn;
  gemm.bias_batch_stride = kPacked;
  gemm.input_type = DataType::Float16;
  gemm.output_type = DataType::Float32;
  gemm.bias_type = DataType::Float16;
  gemm.activation = Activation::Gelu;
  ASSERT_TRUE(create(gemm, {.config = {}, .programmatic_dependent_launch = false}).ok());
  const Problem& problem = fake_wgmma.prepared.at(0);
  EXPECT_FALSE(problem.programmatic_dependent_launch);
  EXPECT_EQ(problem.args.batch_count, 3);
  EXPECT_EQ(problem.args.input_type, DataType::Float16);
  EXPECT_EQ(problem.args.b.leading_dimension, 10);
  EXPECT_EQ(problem.args.b.batch_stride, 160);
  EXPECT_EQ(problem.args.a.batch_stride, 0);
  const GemmEpilogue& epilogue = problem.args.epilogue;
  EXPECT_EQ(epilogue.ldd, 16);
  EXPECT_EQ(epilogue.d_batch_stride, 16 * 24);
  EXPECT_EQ(epilogue.c_batch_stride, 0);
  EXPECT_EQ(epilogue.bias_kind, Bias::PerRow);
  EXPECT_EQ(epilogue.bias_batch_stride, 24);
  EXPECT_EQ(epilogue.output_type, DataType::Float32);
  EXPECT_EQ(epilogue.bias_type, DataType::Float16);
  EXPECT_EQ(epilogue.activation, Activation::Gelu);
}

TEST_F(GemmPlanTest, TakesHeadsOfAttentionSideBySide) {
  GemmDescriptor gemm = small_gemm();
  gemm.batch_count = 4;
  gemm.d.leading_dimension = 4 * 24;
  gemm.d.batch_stride = 24;
  EXPECT_TRUE(create(gemm).ok());
  gemm.d.batch_stride = 23;
  EXPECT_FALSE(create(gemm).ok());
}

// --- Nothing to compute, nothing to multiply -------------------------------------------------------------------------

TEST_F(GemmPlanTest, DoesNothingWhereDHasNoElements) {
  for (const auto member : {&GemmDescriptor::m, &GemmDescriptor::n, &GemmDescriptor::batch_count}) {
    GemmDescriptor gemm = small_gemm();
    gemm.*member = 0;
    ASSERT_TRUE(create(gemm).ok());
    EXPECT_TRUE(run({}).ok());
    EXPECT_EQ(plan_->config(), "");
    EXPECT_EQ(plan_->workspace_bytes(), 0U);
    EXPECT_THAT(plan_->explain(), HasSubstr("nothing to compute"));
  }
  EXPECT_THAT(fake_wgmma.launched, IsEmpty());
  EXPECT_THAT(fake_mma.launched, IsEmpty());
}

TEST_F(GemmPlanTest, WithoutAProductGoesToTheMmaFamily) {
  GemmDescriptor gemm = small_gemm();
  gemm.k = 0;
  ASSERT_TRUE(create(gemm).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");
  GemmOperands operands;
  operands.d = at(0x30000);
  EXPECT_TRUE(run(operands).ok());
  EXPECT_THAT(fake_mma.launched, SizeIs(1));
  EXPECT_THAT(plan_->explain(), HasSubstr("not wgmma: k is 0"));
  EXPECT_THAT(
      create(gemm, {.config = "wgmma"}).message(),
      HasSubstr(
          "options.config asks for wgmma: k is 0, and only mma_sync computes a GEMM without a product"));
}

TEST_F(GemmPlanTest, ReadsNeitherANorBWhereAlphaIsZero) {
  ASSERT_TRUE(create(small_gemm()).ok());
  EXPECT_EQ(plan_->config(), "wgmma_fake");
  GemmOperands operands;
  operands.d = at(0x30000);
  operands.c = at(0x40000);
  operands.alpha = 0;
  operands.beta = 2;
  ASSERT_TRUE(run(operands).ok());
  EXPECT_THAT(fake_wgmma.launched, IsEmpty());
  const KernelArgs& args = fake_mma.launched.at(0);
  EXPECT_EQ(args.shape, (GemmShape{16, 24, 0}));
  EXPECT_EQ(args.epilogue.c, operands.c);
  EXPECT_EQ(fake_mma.prepared.at(0).args.shape, args.shape);
}

// --- Operands --------------------------------------------------------------------------------------------------------

TEST_F(GemmPlanTest, AllocatesNothingOnTheHostToRun) {
  ASSERT_TRUE(create(small_gemm()).ok());
  const GemmOperands operands = small_operands();
  // The fakes remember what they are asked.
  fake_wgmma.launched.reserve(1);
  fake_wgmma.workspaces.reserve(1);
  const AllocationLimit limit(0);
  EXPECT_TRUE(run(operands).ok());
  EXPECT_FALSE(limit.was_reached());
}

TEST_F(GemmPlanTest, RunsOutOfMemoryForMessagesWithAStatus) {
  GemmPlan plan;
  Status status;
  {
    const AllocationLimit limit(0);
    status = plan.run({}, nullptr);
  }
  EXPECT_EQ(status.code(), StatusCode::OutOfMemory);
  EXPECT_EQ(status.message(), "no host memory");
}

struct OperandFault {
  std::function<void(GemmOperands&)> make;
  const char* message;
};

TEST_F(GemmPlanTest, RefusesOperandsByName) {
  GemmDescriptor gemm = small_gemm();
  gemm.bias = Bias::PerColumn;
  gemm.bias_type = DataType::Float32;
  gemm.c.alignment_bytes = 2;
  fake_wgmma.workspace_bytes = 0x100;
  ASSERT_TRUE(create(gemm).ok());
  EXPECT_EQ(plan_->workspace_bytes(), 0x100U);
  GemmOperands good = small_operands();
  good.c = at(0x40002);
  good.beta = 1;
  good.bias = at(0x50004);
  good.workspace = at(0x60010);
  good.workspace_bytes = 0x100;
  ASSERT_TRUE(run(good).ok());
  EXPECT_EQ(fake_wgmma.workspaces.back(), good.workspace);

  const std::uintptr_t end_of_d = 0x30000 + 16 * 24 * 2;
  const std::vector<OperandFault> faults = {
      {[](auto& operands) { operands.a = nullptr; }, "operands.a is null"},
      {[](auto& operands) { operands.b = nullptr; }, "operands.b is null"},
      {[](auto& operands) { operands.c = nullptr; }, "operands.c is null"},
      {[](auto& operands) { operands.d = nullptr; }, "operands.d is null"},
      {[](auto& operands) { operands.bias = nullptr; }, "operands.bias is null"},
      {[](auto& operands) { operands.workspace = nullptr; },
       "operands.workspace is null, but operands.workspace_bytes is 256"},
      {[](auto& operands) { operands.a = at(0x10008); },
       "operands.a is not 16-byte aligned, but the plan's descriptor promises that"},
      {[](auto& operands) { operands.c = at(0x40001); }, "operands.c is not 2-byte aligned"},
      {[](auto& operands) { operands.bias = at(0x50002); }, "operands.bias is not 4-byte aligned"},
      {[](auto& operands) { operands.workspace = at(0x60008); }, "operands.workspace is not 16-byte aligned"},
      {[](auto& operands) { operands.workspace_bytes = 0xff; },
       "operands.workspace_bytes is 255, but the plan needs 256"},
      {[](auto& operands) { operands.a = operands.d; }, "operands.d overlaps operands.a"},
      {[=](auto& operands) { operands.b = at(end_of_d - 16); }, "operands.d overlaps operands.b"},
      {[](auto& operands) { operands.c = at(0x30002); }, "operands.d overlaps operands.c"},
      {[](auto& operands) { operands.bias = at(0x30000 - 4); }, "operands.d overlaps operands.bias"},
      {[=](auto& operands) { operands.workspace = at(end_of_d - 16); },
       "operands.workspace overlaps operands.d"},
      {[](auto& operands) { operands.workspace = at(0x10000 - 0x10); },
       "operands.workspace overlaps operands.a"},
      {[](auto& operands) { operands.workspace = at(0x50050); }, "operands.workspace overlaps operands.bias"},
  };
  const std::size_t launches = fake_wgmma.launched.size();
  for (const OperandFault& fault : faults) {
    GemmOperands operands = good;
    fault.make(operands);
    const Status status = run(operands);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << fault.message;
    EXPECT_THAT(status.message(), HasSubstr(fault.message));
  }
  EXPECT_THAT(fake_wgmma.launched, SizeIs(launches));

  GemmOperands operands = good;
  operands.b = at(end_of_d);
  operands.c = operands.d;
  EXPECT_TRUE(run(operands).ok()) << run(operands).message();
  operands.beta = 0;
  operands.c = at(0x30002);
  EXPECT_TRUE(run(operands).ok()) << "C is not read";
  EXPECT_EQ(fake_wgmma.launched.back().epilogue.c, nullptr);
}

TEST_F(GemmPlanTest, TakesAWorkspaceOfItsOwnIfNoneIsGiven) {
  fake_wgmma.workspace_bytes = 0x100;
  ASSERT_TRUE(create(small_gemm()).ok());
  GemmOperands operands = small_operands();
  ASSERT_TRUE(run(operands).ok()) << run(operands).message();
  EXPECT_NE(fake_wgmma.workspaces.back(), nullptr);
  EXPECT_FALSE(emulator::free(fake_wgmma.workspaces.back())) << "run() has given it back";
  operands.workspace = at(0x60000);
  operands.workspace_bytes = 0x100;
  ASSERT_TRUE(run(operands).ok());
  EXPECT_EQ(fake_wgmma.workspaces.back(), operands.workspace);
}

TEST_F(GemmPlanTest, CIsDOnlyWithTheSameStrides) {
  GemmDescriptor gemm = small_gemm();
  gemm.c.leading_dimension = 25;
  ASSERT_TRUE(create(gemm).ok());
  GemmOperands operands = small_operands();
  operands.c = operands.d;
  operands.beta = 1;
  EXPECT_THAT(
      run(operands).message(),
      HasSubstr("operands.c is operands.d, but their leading dimensions or batch strides are not the same"));
}

TEST_F(GemmPlanTest, ReadsCInTheOrderOfDAlone) {
  GemmDescriptor gemm = small_gemm();
  gemm.d.order = Layout::ColumnMajor;
  gemm.d.leading_dimension = 40;
  gemm.c.alignment_bytes = 2;
  ASSERT_TRUE(create(gemm).ok());
  EXPECT_EQ(fake_wgmma.prepared.at(0).args.epilogue.ldc, 40) << "as if it were D";
  EXPECT_EQ(fake_wgmma.prepared.at(0).alignments.c, 16);
  GemmOperands operands = small_operands();
  EXPECT_TRUE(run(operands).ok());
  operands.c = at(0x40000);
  operands.beta = 1;
  EXPECT_THAT(run(operands).message(), HasSubstr("the descriptor's c.order is not d.order"));
}

TEST_F(GemmPlanTest, RefusesABiasThatItWouldNotAdd) {
  ASSERT_TRUE(create(small_gemm()).ok());
  GemmOperands operands = small_operands();
  operands.bias = at(0x50000);
  EXPECT_THAT(run(operands).message(),
              HasSubstr("operands.bias is not null, but the plan's descriptor has no bias"));
}

TEST_F(GemmPlanTest, HasAGateOfWholeGroupsAndNoC) {
  GemmDescriptor gemm = small_gemm();
  gemm.gated = true;
  EXPECT_THAT(create(gemm).message(), HasSubstr("n is 24, but a gated GEMM needs a multiple of 16"));
  gemm.n = 32;
  gemm.d.order = Layout::ColumnMajor;
  EXPECT_EQ(create(gemm).code(), StatusCode::Unsupported);
  gemm.d.order = Layout::RowMajor;
  ASSERT_TRUE(create(gemm).ok());
  EXPECT_EQ(fake_wgmma.prepared.back().args.shape.n, 32);
  EXPECT_EQ(fake_wgmma.prepared.back().args.epilogue.ldd, 16);
  GemmOperands operands = small_operands();
  EXPECT_TRUE(run(operands).ok());
  // D ends where this begins, as it has half of the columns.
  operands.a = at(0x30000 + 16 * 16 * 2);
  EXPECT_TRUE(run(operands).ok());
  operands.beta = 1;
  operands.c = at(0x50000);
  EXPECT_THAT(run(operands).message(), HasSubstr("a gated GEMM adds no C"));
}

TEST_F(GemmPlanTest, StoresTheAuxiliaryOutputApartFromAllElse) {
  GemmDescriptor gemm = small_gemm();
  gemm.has_aux = true;
  gemm.aux.order = Layout::ColumnMajor;
  EXPECT_THAT(create(gemm).message(), HasSubstr("aux.order is not d.order"));
  gemm.aux.order = Layout::RowMajor;
  gemm.batch_count = 2;
  gemm.aux.batch_stride = 0;
  EXPECT_THAT(create(gemm).message(), HasSubstr("so batches of aux overlap"));
  gemm.batch_count = 1;
  gemm.aux.leading_dimension = 23;
  EXPECT_THAT(create(gemm).message(),
              HasSubstr("aux.leading_dimension is 23, which is shorter than a line of 24"));
  gemm.aux.leading_dimension = kPacked;
  ASSERT_TRUE(create(gemm).ok());
  GemmOperands operands = small_operands();
  EXPECT_THAT(run(operands).message(), HasSubstr("operands.aux is null"));
  operands.aux = at(0x40002);
  EXPECT_THAT(run(operands).message(), HasSubstr("operands.aux is not 16-byte aligned"));
  operands.aux = operands.d;
  EXPECT_THAT(run(operands).message(), HasSubstr("operands.d overlaps operands.aux"));
  operands.aux = at(0x10010);
  EXPECT_THAT(run(operands).message(), HasSubstr("operands.aux overlaps operands.a"));
  operands.aux = at(0x40000);
  EXPECT_TRUE(run(operands).ok());
  EXPECT_EQ(fake_wgmma.launched.back().epilogue.aux, operands.aux);
  ASSERT_TRUE(create(small_gemm()).ok());
  EXPECT_THAT(run(operands).message(),
              HasSubstr("operands.aux is not null, but the plan's descriptor has no aux"));
}

TEST_F(GemmPlanTest, PassesOnWhatALaunchSays) {
  ASSERT_TRUE(create(small_gemm()).ok());
  fake_wgmma.launch = {StatusCode::CudaError, "the launch failed"};
  EXPECT_EQ(run(small_operands()).message(), "the launch failed");
}

// --- The choice ------------------------------------------------------------------------------------------------------

TEST_F(GemmPlanTest, TakesWgmmaWhereItCanAndMmaElse) {
  ASSERT_TRUE(create(small_gemm()).ok());
  EXPECT_EQ(plan_->config(), "wgmma_fake");
  EXPECT_THAT(plan_->explain(),
              HasSubstr("16x24x8, bf16 to bf16, A K-major, B N-major, on 132 SMs of compute "
                        "capability 9.0\nwgmma_fake\nthe fake's reasons\n"));
  fake_wgmma.can_implement = unsupported("the GPU is no Hopper");
  ASSERT_TRUE(create(small_gemm(), {}, kA100).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");
  EXPECT_THAT(plan_->explain(), HasSubstr("not wgmma: the GPU is no Hopper\nmma_sync_fake\n"));
}

TEST_F(GemmPlanTest, TakesMmaWhereWgmmaCannotBeSetUp) {
  fake_wgmma.prepare = unsupported("the driver is too old");
  ASSERT_TRUE(create(small_gemm()).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");
  fake_wgmma.prepare = {StatusCode::CudaError, "the context is lost"};
  EXPECT_EQ(create(small_gemm()).code(), StatusCode::CudaError);
}

TEST_F(GemmPlanTest, SaysWhyNoKernelCan) {
  fake_wgmma.can_implement = unsupported("one reason");
  fake_mma.can_implement = unsupported("another");
  const Status status = create(small_gemm());
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "no kernel computes this: wgmma: one reason; mma_sync: another");
}

TEST_F(GemmPlanTest, DoesWhatTheOptionsAndTheEnvironmentAskFor) {
  ASSERT_TRUE(create(small_gemm(), {.config = "mma_sync_fake"}).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");
  EXPECT_THAT(plan_->explain(), HasSubstr("mma_sync_fake, as options.config asks"));
  ASSERT_TRUE(create(small_gemm(), {.config = "mma_sync"}).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");

  setenv("HGEMM_CONFIG", "mma_sync_fake", 1);
  ASSERT_TRUE(create(small_gemm()).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");
  ASSERT_TRUE(create(small_gemm(), {.config = "wgmma_fake"}).ok());
  EXPECT_EQ(plan_->config(), "wgmma_fake") << "the options come first";
  setenv("HGEMM_CONFIG", "", 1);
  ASSERT_TRUE(create(small_gemm()).ok());
  EXPECT_EQ(plan_->config(), "wgmma_fake") << "empty is as good as not set";
}

TEST_F(GemmPlanTest, RefusesConfigurationsThatThereAreNot) {
  Status status = create(small_gemm(), {.config = "mma_sync_128x999"});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "options.config asks for mma_sync_128x999: there is no configuration mma_sync_128x999");
  status = create(small_gemm(), {.config = "mma_synca_fake"});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "options.config asks for mma_synca_fake: the name of a configuration begins with one of wgmma, "
            "mma_sync");
  fake_wgmma.can_implement = unsupported("the GPU is no Hopper");
  status = create(small_gemm(), {.config = "wgmma_fake"}, kA100);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "options.config asks for wgmma_fake: the GPU is no Hopper");
}

// A process runs many GEMMs, and the variable must break none of them.
TEST_F(GemmPlanTest, TakesTheEnvironmentForAWish) {
  for (const auto& [wish, reason] :
       {std::pair("mma_synca_fake", "the name of a configuration begins with one of wgmma, mma_sync"),
        std::pair("mma_sync_128x999", "there is no configuration mma_sync_128x999"),
        std::pair("\033[31mred\n", "the name of a configuration begins")}) {
    setenv("HGEMM_CONFIG", wish, 1);
    ASSERT_TRUE(create(small_gemm()).ok()) << wish;
    EXPECT_EQ(plan_->config(), "wgmma_fake");
    EXPECT_THAT(plan_->explain(), HasSubstr("the environment variable HGEMM_CONFIG asks for "));
    EXPECT_THAT(plan_->explain(), HasSubstr(reason));
    EXPECT_THAT(plan_->explain(), HasSubstr("; so the library chooses\nwgmma_fake\n"));
    EXPECT_THAT(plan_->explain(), Not(HasSubstr("\033")));
  }
  setenv("HGEMM_CONFIG", "wgmma", 1);
  GemmDescriptor without_product = small_gemm();
  without_product.k = 0;
  ASSERT_TRUE(create(without_product).ok());
  EXPECT_EQ(plan_->config(), "mma_sync_fake");
  fake_wgmma.prepare = {StatusCode::CudaError, "the context is lost"};
  EXPECT_EQ(create(small_gemm()).code(), StatusCode::CudaError) << "an error is no refusal";
}

// Without a GPU, too, a bad descriptor is what is wrong.
TEST_F(GemmPlanTest, ChecksItsArgumentsBeforeItLooksForAGpu) {
  emulator::EmulationOptions options;
  options.compute_capability = {7, 5};
  emulator::configure(options);
  GemmDescriptor bad = small_gemm();
  bad.m = -1;
  GemmPlan plan;
  EXPECT_EQ(plan.create(bad).code(), StatusCode::InvalidArgument);
  emulator::configure({});
}

TEST_F(GemmPlanTest, RefusesAnOldGpuInASentence) {
  const Status status =
      create(small_gemm(), {}, {.id = 0, .major = 7, .minor = 5, .sm_count = 40, .max_shared_bytes = 0});
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "the GPU has compute capability 7.5, but the library needs 8.0 or newer");
}

// --- The handle ------------------------------------------------------------------------------------------------------

TEST_F(GemmPlanTest, OfNothingRefusesToRun) {
  const GemmPlan plan;
  EXPECT_EQ(plan.run(small_operands(), nullptr).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(plan.config(), "");
  EXPECT_EQ(plan.workspace_bytes(), 0U);
  EXPECT_THAT(plan.explain(), Not(IsEmpty()));
}

TEST_F(GemmPlanTest, StaysWhatItWasWhenItCannotBeMade) {
  GemmPlan plan;
  ASSERT_TRUE(plan.create(small_gemm()).ok());
  GemmDescriptor bad = small_gemm();
  bad.m = -1;
  EXPECT_FALSE(plan.create(bad).ok());
  EXPECT_EQ(plan.config(), "wgmma_fake");
  EXPECT_TRUE(plan.run(small_operands(), nullptr).ok());
}

TEST_F(GemmPlanTest, IsCopiedWithWhatItKnows) {
  std::optional<GemmPlan> plan(std::in_place);
  ASSERT_TRUE(plan->create(small_gemm()).ok());
  const GemmPlan copy = *plan;
  GemmPlan moved = std::move(*plan);
  plan.reset();
  EXPECT_EQ(copy.config(), "wgmma_fake");
  moved = copy;
  EXPECT_TRUE(moved.run(small_operands(), nullptr).ok());
}

// After cudaDeviceReset(), under a context of the program's own and under a green context, which has fewer SMs.
TEST_F(GemmPlanTest, RunsUnderAnotherContextAndIsSizedForItsSms) {
  emulator::configure({.sms = 132, .context = 1});
  GemmPlan plan;
  ASSERT_TRUE(plan.create(small_gemm()).ok());
  const GemmPlan copy = plan;
  emulator::configure({.sms = 64, .context = 2});
  ASSERT_TRUE(plan.run(small_operands(), nullptr).ok());
  ASSERT_TRUE(copy.run(small_operands(), nullptr).ok());
  ASSERT_THAT(fake_wgmma.devices, SizeIs(2)) << "it is made once for a context, whichever copy runs";
  EXPECT_EQ(fake_wgmma.devices[0].sm_count, 132);
  EXPECT_EQ(fake_wgmma.devices[1].sm_count, 64);
  emulator::configure({.sms = 132, .context = 1});
  ASSERT_TRUE(plan.run(small_operands(), nullptr).ok());
  EXPECT_THAT(fake_wgmma.devices, SizeIs(2));
  EXPECT_THAT(fake_wgmma.launched, SizeIs(3));
  emulator::configure({});
}

TEST_F(GemmPlanTest, RefusesAContextThatCannotRunItsConfiguration) {
  GemmPlan plan;
  ASSERT_TRUE(plan.create(small_gemm()).ok());
  emulator::configure({.sms = 1, .context = 2});
  fake_wgmma.can_implement = unsupported("there is no room for a cluster");
  const Status status = plan.run(small_operands(), nullptr);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(),
            "the current CUDA context is not the plan's, and it cannot run the plan: there is no room for a "
            "cluster");
  EXPECT_THAT(fake_wgmma.launched, IsEmpty());
  fake_wgmma.can_implement = {};
  EXPECT_TRUE(plan.run(small_operands(), nullptr).ok()) << "it is tried again";
  emulator::configure({});
}

TEST_F(GemmPlanTest, RefusesAnotherDevice) {
  ASSERT_TRUE(create(small_gemm()).ok());
  Device other = kH200;
  other.id = 1;
  std::shared_ptr<const Plan> plan;
  const Status status = plan_->for_context(other, all_backends(), &plan);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "the current device is 1, but the plan was made for device 0");
  EXPECT_EQ(plan, nullptr);
}

TEST_F(GemmPlanTest, AsksTheCurrentDevice) {
  emulator::EmulationOptions options;
  options.compute_capability = {7, 5};
  emulator::configure(options);
  GemmPlan plan;
  EXPECT_THAT(plan.create(small_gemm()).message(), HasSubstr("compute capability 7.5"));
  emulator::configure({});
  EXPECT_TRUE(gemm(small_gemm(), small_operands(), nullptr).ok());
  EXPECT_THAT(fake_wgmma.launched, SizeIs(1));
}

}  // namespace
}  // namespace hopper_gemm::library
