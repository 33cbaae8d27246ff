#include "gemm/host/footprint.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>

namespace hopper_gemm::library {
namespace {

std::string text_of(const StridedLines& matrices) {
  return std::to_string(matrices.batch_count) + " batches, " + std::to_string(matrices.batch_stride) +
         " apart, of " + std::to_string(matrices.lines) + " lines of " + std::to_string(matrices.line_elems) +
         ", " + std::to_string(matrices.leading_dimension) + " apart";
}

// Every element, the long way. False if one was there before.
bool insert_elements(const StridedLines& matrices, std::int64_t first, std::set<std::int64_t>* elements) {
  bool all_new = true;
  for (std::int64_t batch = 0; batch < matrices.batch_count; ++batch) {
    for (std::int64_t line = 0; line < matrices.lines; ++line) {
      const std::int64_t start = first + batch * matrices.batch_stride + line * matrices.leading_dimension;
      for (std::int64_t i = 0; i < matrices.line_elems; ++i)
        all_new = elements->insert(start + i).second && all_new;
    }
  }
  return all_new;
}

StridedLines random_matrices(std::mt19937* random) {
  const auto draw = [random](std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(*random);
  };
  StridedLines matrices{};
  matrices.batch_count = draw(0, 6);
  matrices.lines = draw(0, 5);
  matrices.line_elems = draw(0, 6);
  matrices.leading_dimension = std::max<std::int64_t>(matrices.line_elems + draw(0, 1) * draw(0, 25), 1);
  matrices.batch_stride = draw(0, 3) == 0 ? matrices.leading_dimension * draw(0, 5) : draw(0, 60);
  return matrices;
}

TEST(BatchesOverlap, IsExact) {
  std::mt19937 random(1);
  int overlapping = 0;
  for (int i = 0; i < 50'000; ++i) {
    const StridedLines matrices = random_matrices(&random);
    std::set<std::int64_t> elements;
    const bool expected = !insert_elements(matrices, 0, &elements);
    ASSERT_EQ(batches_overlap(matrices), expected) << text_of(matrices);
    overlapping += expected ? 1 : 0;
  }
  EXPECT_GT(overlapping, 5'000);
  EXPECT_LT(overlapping, 40'000);
}

TEST(BatchesOverlap, TakesNoTimeForGreatNumbers) {
  constexpr std::int64_t kMany = 2'000'000'000;
  constexpr std::int64_t kPitch = 1'000'000'000'000;
  EXPECT_FALSE(batches_overlap({kMany, kMany, 1, std::int64_t{1} << 40, 2}));
  EXPECT_TRUE(batches_overlap({kMany, kMany, 3, std::int64_t{1} << 40, 2}));
  // Of 1'000'001 the first multiple next to one of the pitch is the 999'999th, the first that is one the 10^12th.
  EXPECT_FALSE(batches_overlap({kMany, kMany, 1, kPitch, 1'000'001}));
  EXPECT_TRUE(batches_overlap({kMany, kMany, 2, kPitch, 1'000'001}));
  EXPECT_FALSE(batches_overlap({999'999, kMany, 2, kPitch, 1'000'001}));
}

TEST(SpannedElems, StaysInItsType) {
  EXPECT_EQ(spanned_elems({3, 4, 5, 7, 100}), 200 + 28);
  const std::int64_t max = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(spanned_elems({2'000'000'000, 2'000'000'000, 5, max, max}), max);
}

TEST(Overlap, NeverDeniesOne) {
  std::mt19937 random(2);
  int side_by_side = 0;
  for (int i = 0; i < 50'000; ++i) {
    const StridedLines x = random_matrices(&random);
    StridedLines y = random_matrices(&random);
    if (i % 2 == 0) y.leading_dimension = std::max(x.leading_dimension, y.leading_dimension);
    const std::int64_t distance = std::uniform_int_distribution<std::int64_t>(-200, 200)(random);
    std::set<std::int64_t> elements;
    insert_elements(x, 0, &elements);
    std::set<std::int64_t> others;
    insert_elements(y, distance, &others);
    bool shared = false;
    for (const std::int64_t element : others) shared = shared || elements.contains(element);
    const std::int64_t base = 0x10000;
    const bool found = overlap(std::bit_cast<const void*>(base), footprint_of(x, 2),
                               std::bit_cast<const void*>(base + 2 * distance), footprint_of(y, 2));
    ASSERT_TRUE(found || !shared) << text_of(x) << "; at " << distance << " " << text_of(y);
    const bool apart = elements.empty() || others.empty() || *elements.rbegin() < *others.begin() ||
                       *others.rbegin() < *elements.begin();
    ASSERT_FALSE(found && apart) << text_of(x) << "; at " << distance << " " << text_of(y);
    if (!apart && !found) ++side_by_side;
  }
  EXPECT_GT(side_by_side, 100);
}

TEST(Overlap, LetsColumnSlicesOfOneMatrixLieSideBySide) {
  const auto at = [](std::int64_t elems) { return std::bit_cast<const void*>(0x1000 + 2 * elems); };
  const Footprint slice = footprint_of({1, 100, 32, 96, 0}, 2);
  EXPECT_FALSE(overlap(at(0), slice, at(32), slice));
  EXPECT_FALSE(overlap(at(64), slice, at(32), slice));
  EXPECT_TRUE(overlap(at(0), slice, at(31), slice));
  EXPECT_TRUE(overlap(at(0), slice, at(65), slice)) << "whose lines go on in the next";
  EXPECT_FALSE(overlap(at(0), slice, at(99 * 96 + 32), slice)) << "behind it";
  const Footprint heads = footprint_of({4, 100, 8, 96, 8}, 2);
  EXPECT_FALSE(overlap(at(0), slice, at(32), heads));
  EXPECT_TRUE(overlap(at(0), slice, at(24), heads));
}

}  // namespace
}  // namespace hopper_gemm::library
