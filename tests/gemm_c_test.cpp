#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "fake_backends.hpp"
#include "gemm_c_interface.h"
#include "hopper_gemm/gemm.hpp"

namespace hopper_gemm::library {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void* at(std::uintptr_t address) { return std::bit_cast<void*>(address); }

hgemm_descriptor_t small_c_gemm() {
  hgemm_descriptor_t descriptor = HGEMM_DESCRIPTOR_INIT;
  descriptor.m = 16;
  descriptor.n = 24;
  descriptor.k = 8;
  return descriptor;
}

hgemm_operands_t small_c_operands() {
  hgemm_operands_t operands = HGEMM_OPERANDS_INIT;
  operands.a = at(0x10000);
  operands.b = at(0x20000);
  operands.d = at(0x30000);
  return operands;
}

class GemmC : public testing::Test {
 protected:
  GemmC() {
    reset_fake_backends();
    unsetenv("HGEMM_CONFIG");
  }
};

TEST_F(GemmC, IsCalledFromC) {
  std::array<char, 32> config{};
  EXPECT_EQ(run_from_c(at(0x10000), at(0x20000), at(0x30000), config.data(), config.size()), HGEMM_OK)
      << hgemm_last_error_message();
  EXPECT_STREQ(config.data(), "wgmma_fake");
  EXPECT_THAT(fake_wgmma.launched, SizeIs(1));
  EXPECT_STREQ(hgemm_last_error_message(), "");
  EXPECT_EQ(run_from_c(nullptr, at(0x20000), at(0x30000), config.data(), config.size()),
            HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "operands.a is null");
}

TEST_F(GemmC, StartsFromTheDefaultsOfCpp) {
  const hgemm_descriptor_t descriptor = initial_descriptor();
  const GemmDescriptor expected;
  EXPECT_EQ(descriptor.struct_bytes, sizeof descriptor);
  EXPECT_EQ(descriptor.m, expected.m);
  EXPECT_EQ(descriptor.batch_count, expected.batch_count);
  EXPECT_EQ(static_cast<int>(descriptor.input_type), static_cast<int>(expected.input_type));
  EXPECT_EQ(static_cast<int>(descriptor.output_type), static_cast<int>(expected.output_type));
  EXPECT_EQ(static_cast<int>(descriptor.bias), static_cast<int>(expected.bias));
  EXPECT_EQ(static_cast<int>(descriptor.bias_type), static_cast<int>(expected.bias_type));
  EXPECT_EQ(descriptor.bias_batch_stride, expected.bias_batch_stride);
  EXPECT_EQ(static_cast<int>(descriptor.activation), static_cast<int>(expected.activation));
  for (const hgemm_matrix_layout_t& layout : {descriptor.a, descriptor.b, descriptor.c, descriptor.d}) {
    EXPECT_EQ(static_cast<int>(layout.order), static_cast<int>(expected.a.order));
    EXPECT_EQ(layout.transposed != 0, expected.a.transposed);
    EXPECT_EQ(layout.leading_dimension, expected.a.leading_dimension);
    EXPECT_EQ(layout.batch_stride, expected.a.batch_stride);
    EXPECT_EQ(layout.alignment_bytes, expected.a.alignment_bytes);
  }
  const hgemm_options_t options = initial_options();
  EXPECT_EQ(options.struct_bytes, sizeof options);
  EXPECT_EQ(options.config, nullptr);
  EXPECT_EQ(options.programmatic_dependent_launch != 0, GemmOptions().programmatic_dependent_launch);
  EXPECT_EQ(options.workspace_limit_bytes, GemmOptions().workspace_limit_bytes);
  const hgemm_operands_t operands = initial_operands();
  EXPECT_EQ(operands.struct_bytes, sizeof operands);
  EXPECT_EQ(operands.alpha, 1);
  EXPECT_EQ(operands.beta, 0);
  EXPECT_EQ(operands.workspace_bytes, 0U);
}

TEST_F(GemmC, PassesEveryFieldOn) {
  hgemm_descriptor_t descriptor = small_c_gemm();
  descriptor.batch_count = 2;
  descriptor.input_type = HGEMM_FP16;
  descriptor.output_type = HGEMM_FP32;
  descriptor.a.order = HGEMM_COLUMN_MAJOR;
  descriptor.a.leading_dimension = 17;
  descriptor.a.batch_stride = 200;
  descriptor.a.alignment_bytes = 2;
  descriptor.b.transposed = 1;
  descriptor.b.alignment_bytes = 4;
  descriptor.c.leading_dimension = 30;
  descriptor.c.batch_stride = 0;
  descriptor.c.alignment_bytes = 8;
  descriptor.d.leading_dimension = 32;
  descriptor.d.alignment_bytes = 32;
  descriptor.bias = HGEMM_BIAS_PER_ROW;
  descriptor.bias_type = HGEMM_FP32;
  descriptor.bias_batch_stride = 40;
  descriptor.activation = HGEMM_ACTIVATION_SILU;
  descriptor.has_aux = 1;
  descriptor.aux.leading_dimension = 28;
  descriptor.aux.alignment_bytes = 4;
  hgemm_options_t options = HGEMM_OPTIONS_INIT;
  options.config = "wgmma_fake";
  options.programmatic_dependent_launch = 0;
  options.workspace_limit_bytes = 100;
  fake_wgmma.workspace_bytes = 64;
  hgemm_plan_t* plan = nullptr;
  ASSERT_EQ(hgemm_plan_create(&plan, &descriptor, &options), HGEMM_OK) << hgemm_last_error_message();
  EXPECT_EQ(hgemm_plan_workspace_bytes(plan), 64U);
  hgemm_operands_t operands = small_c_operands();
  operands.c = at(0x40000);
  operands.bias = at(0x50000);
  operands.aux = at(0x70000);
  operands.alpha = 2;
  operands.beta = 3;
  operands.workspace = at(0x60000);
  operands.workspace_bytes = 64;
  ASSERT_EQ(hgemm_plan_run(plan, &operands, nullptr), HGEMM_OK) << hgemm_last_error_message();
  hgemm_plan_destroy(plan);

  const Problem& problem = fake_wgmma.prepared.at(0);
  EXPECT_FALSE(problem.programmatic_dependent_launch);
  EXPECT_EQ(problem.workspace_limit_bytes, 100U);
  EXPECT_EQ(problem.alignments.a, 2);
  EXPECT_EQ(problem.alignments.b, 4);
  EXPECT_EQ(problem.alignments.c, 8);
  EXPECT_EQ(problem.alignments.d, 32);
  EXPECT_EQ(problem.alignments.aux, 4);
  const KernelArgs& args = fake_wgmma.launched.at(0);
  EXPECT_EQ(args.shape, (GemmShape{16, 24, 8}));
  EXPECT_EQ(args.batch_count, 2);
  EXPECT_EQ(args.input_type, DataType::Float16);
  EXPECT_EQ(args.a.data, operands.a);
  EXPECT_EQ(args.a.major, OperandMajor::MN);
  EXPECT_EQ(args.a.leading_dimension, 17);
  EXPECT_EQ(args.a.batch_stride, 200);
  EXPECT_EQ(args.b.data, operands.b);
  EXPECT_EQ(args.b.major, OperandMajor::K);
  const GemmEpilogue& epilogue = args.epilogue;
  EXPECT_EQ(epilogue.d, operands.d);
  EXPECT_EQ(epilogue.ldd, 32);
  EXPECT_TRUE(epilogue.has_aux);
  EXPECT_FALSE(epilogue.is_gated);
  EXPECT_EQ(epilogue.aux, operands.aux);
  EXPECT_EQ(epilogue.ldaux, 28);
  EXPECT_EQ(epilogue.aux_batch_stride, 16 * 28);
  EXPECT_EQ(epilogue.c, operands.c);
  EXPECT_EQ(epilogue.ldc, 30);
  EXPECT_EQ(epilogue.c_batch_stride, 0);
  EXPECT_EQ(epilogue.bias, operands.bias);
  EXPECT_EQ(epilogue.bias_batch_stride, 40);
  EXPECT_EQ(epilogue.output_type, DataType::Float32);
  EXPECT_EQ(epilogue.bias_type, DataType::Float32);
  EXPECT_EQ(epilogue.bias_kind, Bias::PerRow);
  EXPECT_EQ(epilogue.activation, Activation::Silu);
  EXPECT_EQ(epilogue.alpha, 2);
  EXPECT_EQ(epilogue.beta, 3);
  EXPECT_EQ(fake_wgmma.workspaces.at(0), operands.workspace);
}

TEST_F(GemmC, TakesNullPointers) {
  const hgemm_descriptor_t descriptor = small_c_gemm();
  const hgemm_operands_t operands = small_c_operands();
  hgemm_plan_t* plan = nullptr;
  EXPECT_EQ(hgemm_plan_create(nullptr, &descriptor, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "plan is null");
  EXPECT_EQ(hgemm_plan_create(&plan, nullptr, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "descriptor is null");
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(hgemm_plan_run(nullptr, &operands, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "plan is null");
  EXPECT_EQ(hgemm_gemm(&descriptor, nullptr, nullptr, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "operands is null");
  EXPECT_EQ(hgemm_gemm(nullptr, &operands, nullptr, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(hgemm_plan_workspace_bytes(nullptr), 0U);
  EXPECT_EQ(hgemm_plan_config(nullptr, nullptr, 0), 0U);
  EXPECT_EQ(hgemm_plan_explain(nullptr, nullptr, 9), 0U);
  hgemm_plan_destroy(nullptr);
}

TEST_F(GemmC, RefusesStructsOfAnotherSize) {
  hgemm_descriptor_t descriptor = small_c_gemm();
  hgemm_operands_t operands = small_c_operands();
  hgemm_options_t options = HGEMM_OPTIONS_INIT;
  descriptor.struct_bytes = 0;
  EXPECT_EQ(hgemm_gemm(&descriptor, &operands, nullptr, &options), HGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(hgemm_last_error_message(),
              HasSubstr("descriptor->struct_bytes is 0, but a hgemm_descriptor_t"));
  descriptor = small_c_gemm();
  options.struct_bytes += 8;
  EXPECT_EQ(hgemm_gemm(&descriptor, &operands, nullptr, &options), HGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(hgemm_last_error_message(), HasSubstr("options->struct_bytes"));
  options = HGEMM_OPTIONS_INIT;
  operands.struct_bytes -= 16;
  EXPECT_EQ(hgemm_gemm(&descriptor, &operands, nullptr, &options), HGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(hgemm_last_error_message(), HasSubstr("operands->struct_bytes"));
  operands = small_c_operands();
  EXPECT_EQ(hgemm_gemm(&descriptor, &operands, nullptr, &options), HGEMM_OK);
}

TEST_F(GemmC, TakesStructsOfBeforeTheGate) {
  hgemm_descriptor_t descriptor = small_c_gemm();
  hgemm_operands_t operands = small_c_operands();
  descriptor.struct_bytes = offsetof(hgemm_descriptor_t, aux);
  operands.struct_bytes = offsetof(hgemm_operands_t, aux);
  // Behind them lies something else of the caller's.
  descriptor.gated = descriptor.has_aux = 1;
  operands.aux = at(1);
  EXPECT_EQ(hgemm_gemm(&descriptor, &operands, nullptr, nullptr), HGEMM_OK) << hgemm_last_error_message();
  const GemmEpilogue& epilogue = fake_wgmma.launched.at(0).epilogue;
  EXPECT_FALSE(epilogue.is_gated);
  EXPECT_FALSE(epilogue.has_aux);
  EXPECT_EQ(epilogue.aux, nullptr);
}

TEST_F(GemmC, InterleavesNothingWithoutPointers) {
  hgemm_descriptor_t descriptor = small_c_gemm();
  descriptor.n = 32;
  const hgemm_matrix_layout_t halves = HGEMM_MATRIX_LAYOUT_INIT;
  EXPECT_EQ(hgemm_interleave_gate_and_up(nullptr, at(2), at(4), &halves, at(6), nullptr),
            HGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(hgemm_interleave_gate_and_up(&descriptor, at(2), at(4), &halves, at(6), nullptr),
            HGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(hgemm_last_error_message(), HasSubstr("gemm.gated is false"));
  descriptor.gated = 1;
  EXPECT_EQ(hgemm_interleave_gate_and_up(&descriptor, at(2), at(4), nullptr, at(6), nullptr),
            HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "halves is null");
  EXPECT_EQ(hgemm_interleave_gate_and_up(&descriptor, at(2), nullptr, &halves, at(6), nullptr),
            HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "up is null");
  EXPECT_EQ(hgemm_interleave_gate_and_up(&descriptor, at(2), at(4), &halves, at(7), nullptr),
            HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "b is not aligned to its elements");
}

TEST_F(GemmC, RefusesNumbersThatAreNoEnumerators) {
  hgemm_descriptor_t descriptor = small_c_gemm();
  descriptor.d.alignment_bytes = std::int64_t{1} << 32;
  hgemm_plan_t* plan = nullptr;
  EXPECT_EQ(hgemm_plan_create(&plan, &descriptor, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(hgemm_last_error_message(), HasSubstr("d.alignment_bytes"));
  descriptor = small_c_gemm();
  const int number = 7;
  std::memcpy(&descriptor.activation, &number, sizeof number);
  EXPECT_EQ(hgemm_plan_create(&plan, &descriptor, nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "activation is 7, but its values are 0 to 4");
}

TEST_F(GemmC, TellsStatusesApart) {
  const hgemm_descriptor_t descriptor = small_c_gemm();
  const hgemm_operands_t operands = small_c_operands();
  const std::array<std::pair<StatusCode, hgemm_status_t>, 5> pairs = {
      {{StatusCode::InvalidArgument, HGEMM_INVALID_ARGUMENT},
       {StatusCode::Unsupported, HGEMM_UNSUPPORTED},
       {StatusCode::OutOfMemory, HGEMM_OUT_OF_MEMORY},
       {StatusCode::CudaError, HGEMM_CUDA_ERROR},
       {StatusCode::Timeout, HGEMM_INTERNAL_ERROR}}};
  for (const auto& [code, expected] : pairs) {
    fake_wgmma.launch = {code, "as it was told"};
    EXPECT_EQ(hgemm_gemm(&descriptor, &operands, nullptr, nullptr), expected);
    EXPECT_STREQ(hgemm_last_error_message(), "as it was told");
  }
  EXPECT_STREQ(hgemm_status_string(HGEMM_OK), "HGEMM_OK");
  EXPECT_STREQ(hgemm_status_string(HGEMM_CUDA_ERROR), "HGEMM_CUDA_ERROR");
  EXPECT_STREQ(hgemm_status_string(HGEMM_INTERNAL_ERROR), "HGEMM_INTERNAL_ERROR");
}

TEST_F(GemmC, KeepsAMessageForEachThread) {
  EXPECT_EQ(hgemm_plan_run(nullptr, nullptr, nullptr), HGEMM_INVALID_ARGUMENT);
  std::string other = "not asked";
  std::thread([&other] { other = hgemm_last_error_message(); }).join();
  EXPECT_THAT(other, IsEmpty());
  EXPECT_STREQ(hgemm_last_error_message(), "plan is null");
}

TEST_F(GemmC, CutsTextToTheBuffer) {
  const hgemm_descriptor_t descriptor = small_c_gemm();
  hgemm_plan_t* plan = nullptr;
  ASSERT_EQ(hgemm_plan_create(&plan, &descriptor, nullptr), HGEMM_OK);
  std::array<char, 6> buffer{'x', 'x', 'x', 'x', 'x', 'x'};
  EXPECT_EQ(hgemm_plan_config(plan, buffer.data(), buffer.size()), 10U);
  EXPECT_STREQ(buffer.data(), "wgmma");
  EXPECT_EQ(hgemm_plan_config(plan, buffer.data(), 1), 10U);
  EXPECT_STREQ(buffer.data(), "");
  EXPECT_EQ(hgemm_plan_config(plan, nullptr, 0), 10U);
  std::string text(hgemm_plan_explain(plan, nullptr, 0) + 1, '\0');
  EXPECT_EQ(hgemm_plan_explain(plan, text.data(), text.size()) + 1, text.size());
  EXPECT_THAT(text, HasSubstr("wgmma_fake\n"));
  hgemm_plan_destroy(plan);
}

TEST_F(GemmC, SaysItsVersion) {
  EXPECT_EQ(hgemm_version(), HOPPER_GEMM_VERSION);
  EXPECT_STREQ(hgemm_version_string(), HOPPER_GEMM_VERSION_STRING);
}

}  // namespace
}  // namespace hopper_gemm::library
