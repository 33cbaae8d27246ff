// The tensor-map builder without a GPU: what it hands to the driver, and what it refuses before.

#include "device/tensor_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <string>
#include <vector>

#include "device/tensor_map_driver.hpp"

namespace hopper_gemm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the driver was called with.
struct EncodeCall {
  CUtensorMapDataType type;
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> strides_bytes;
  std::vector<std::uint32_t> box;
  std::vector<std::uint32_t> element_strides;
  const void* base;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion l2_promotion;
  CUtensorMapFloatOOBfill oob_fill;
};

EncodeCall last_call;

CUresult recording_encode(CUtensorMap* tensor_map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                          const cuuint64_t* extents, const cuuint64_t* strides_bytes, const cuuint32_t* box,
                          const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                          CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                          CUtensorMapFloatOOBfill oob_fill) {
  last_call = {type,
               {extents, extents + rank},
               {strides_bytes, strides_bytes + rank - 1},
               {box, box + rank},
               {element_strides, element_strides + rank},
               base,
               interleave,
               swizzle,
               l2_promotion,
               oob_fill};
  tensor_map->opaque[3] = 0x0123456789ABCDEF;
  return CUDA_SUCCESS;
}

template <CUresult kResult>
CUresult encode_with_result(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return kResult;
}

const void* address(std::uintptr_t value) { return std::bit_cast<const void*>(value); }

// A valid map of a row-major bf16 matrix [200, 100] with a pitch of 104, in boxes of [128, 64].
struct Fixture {
  std::array<std::int64_t, 2> extents = {100, 200};
  std::array<std::int64_t, 1> strides_bytes = {208};
  std::array<int, 2> box = {64, 128};

  TensorMapSpec spec() const {
    TensorMapSpec spec;
    spec.base = address(0x1000);
    spec.extents_elems = extents;
    spec.strides_bytes = strides_bytes;
    spec.box_elems = box;
    spec.swizzle = Swizzle::B128;
    return spec;
  }
};

TEST(TensorMap, HandsEveryFieldToTheDriver) {
  const Fixture fixture;
  TensorMap tensor_map{};
  ASSERT_TRUE(encode_tensor_map_with(recording_encode, fixture.spec(), &tensor_map).ok());
  EXPECT_EQ(last_call.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(last_call.base, address(0x1000));
  EXPECT_THAT(last_call.extents, ElementsAre(100, 200));
  EXPECT_THAT(last_call.strides_bytes, ElementsAre(208));
  EXPECT_THAT(last_call.box, ElementsAre(64, 128));
  EXPECT_THAT(last_call.element_strides, ElementsAre(1, 1));
  EXPECT_EQ(last_call.interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(last_call.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(last_call.l2_promotion, CU_TENSOR_MAP_L2_PROMOTION_NONE);
  EXPECT_EQ(last_call.oob_fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT_EQ(tensor_map.opaque[3], 0x0123456789ABCDEFU);
}

TEST(TensorMap, TranslatesTheOtherModes) {
  const Fixture fixture;
  TensorMapSpec spec = fixture.spec();
  spec.type = TensorMapType::Fp16;
  spec.swizzle = Swizzle::None;
  spec.l2_promotion = L2Promotion::B256;
  spec.oob_fill = OobFill::NanRequestZeroFma;
  TensorMap tensor_map;
  ASSERT_TRUE(encode_tensor_map_with(recording_encode, spec, &tensor_map).ok());
  EXPECT_EQ(last_call.type, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(last_call.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_EQ(last_call.l2_promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(last_call.oob_fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
}

TEST(TensorMap, SwizzleMayBeNarrowerThanTheSpan) {
  Fixture fixture;
  fixture.box = {8, 128};
  TensorMap tensor_map;
  EXPECT_TRUE(encode_tensor_map_with(recording_encode, fixture.spec(), &tensor_map).ok());
}

void expect_refused(const TensorMapSpec& spec, const std::string& message) {
  TensorMap tensor_map;
  const Status status = encode_tensor_map_with(recording_encode, spec, &tensor_map);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(TensorMap, RefusesABaseThatIsNullOrOffTheGrid) {
  const Fixture fixture;
  TensorMapSpec spec = fixture.spec();
  spec.base = nullptr;
  expect_refused(spec, "base address is null");
  spec.base = address(0x1008);
  expect_refused(spec, "not 16-byte aligned");
}

TEST(TensorMap, RefusesExtentsOutOfRange) {
  Fixture fixture;
  fixture.extents = {0, 200};
  expect_refused(fixture.spec(), "the extent of dimension 0 is 0, but must be 1 to 2^32");
  fixture.extents = {100, (std::int64_t{1} << 32) + 1};
  expect_refused(fixture.spec(), "the extent of dimension 1 is 4294967297");
}

TEST(TensorMap, RefusesStridesTmaCannotAddress) {
  Fixture fixture;
  fixture.strides_bytes = {200};
  expect_refused(fixture.spec(),
                 "the stride in bytes of dimension 1 is 200, but must be a multiple of 16 below 2^40");
  fixture.strides_bytes = {std::int64_t{1} << 40};
  expect_refused(fixture.spec(), "1099511627776");
  fixture.strides_bytes = {-16};
  expect_refused(fixture.spec(), "-16");
}

TEST(TensorMap, RefusesBoxesTmaCannotMove) {
  Fixture fixture;
  fixture.box = {64, 257};
  expect_refused(fixture.spec(), "the box extent of dimension 1 is 257, but must be 1 to 256");
  fixture.box = {0, 128};
  expect_refused(fixture.spec(), "the box extent of dimension 0 is 0");
  fixture.box = {12, 128};
  expect_refused(fixture.spec(),
                 "the box's size in bytes of dimension 0 is 24, but must be a multiple of 16");
  fixture.box = {128, 128};
  expect_refused(fixture.spec(), "256, but must be at most the swizzle span of 128");
}

TEST(TensorMap, RefusesRanksOutOfRangeAndIncompleteSpecs) {
  const Fixture fixture;
  TensorMapSpec spec = fixture.spec();
  spec.extents_elems = {};
  expect_refused(spec, "rank 0 is outside 1 to 5");
  spec = fixture.spec();
  spec.strides_bytes = {};
  expect_refused(spec, "a tensor of rank 2 takes 1 strides and 2 box extents");
}

TEST(TensorMap, ReportsWhatTheDriverRefuses) {
  const Fixture fixture;
  TensorMap tensor_map;
  const Status refused =
      encode_tensor_map_with(encode_with_result<CUDA_ERROR_INVALID_VALUE>, fixture.spec(), &tensor_map);
  EXPECT_EQ(refused.code(), StatusCode::Unsupported);
  EXPECT_THAT(refused.message(), HasSubstr("CUresult 1"));
  const Status failed =
      encode_tensor_map_with(encode_with_result<CUDA_ERROR_UNKNOWN>, fixture.spec(), &tensor_map);
  EXPECT_EQ(failed.code(), StatusCode::CudaError);
  EXPECT_THAT(failed.message(), HasSubstr("CUresult 999"));
}

TEST(TensorMapEntryPoint, SaysThatThereIsNoDriver) {
  const Status status = check_tensor_map_entry_point({nullptr, 0});
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), HasSubstr("no NVIDIA driver is installed"));
}

TEST(TensorMapEntryPoint, SaysThatTheDriverIsTooOld) {
  const Status status = check_tensor_map_entry_point({nullptr, 11080});
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("(CUDA 11.8) has no functions for tensor maps: install a driver for CUDA 12.0"));
}

TEST(TensorMapEntryPoint, AcceptsADriverThatHasIt) {
  int anything = 0;
  EXPECT_TRUE(check_tensor_map_entry_point({&anything, 12000}).ok());
}

}  // namespace
}  // namespace hopper_gemm
