// What the lanes of a warp do together: __syncwarp, shuffles, votes, and matrices through registers.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/machine.hpp"
#include "emulator/number_formats.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr std::uint32_t kAllLanes = 0xffffffffU;

enum class MemoryOrder { None, Orders };

template <typename Visit>
void for_each_lane(std::uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

// From now on each lane of `mask` knows what any of them knows. The clocks of lanes that wait have not changed since they
// came.
void share_clocks(std::uint32_t mask) {
  machine.note_progress();
  Thread* const first = current - current->number % kWarpSize;
  VectorClock& joined = current->warp->joined;
  joined = current->clock;
  for_each_lane(mask, [&](std::size_t lane) { joined.join(first[lane].clock); });
  joined.share_own();
  for_each_lane(mask, [&](std::size_t lane) {
    first[lane].clock = joined;
    first[lane].clock.tick(first[lane].component);
  });
  VectorClock over;
  for_each_lane(mask, [&](std::size_t lane) {
    if (!first[lane].over.empty()) over.join(first[lane].over);
  });
  if (over.empty()) return;
  for_each_lane(mask, [&](std::size_t lane) { first[lane].over = over; });
}

// All lanes of `mask` meet, and the last one to come does `effect`. Only __syncwarp() orders memory accesses; shuffles,
// votes, ldmatrix and stmatrix do not.
template <typename Effect>
void meet(const char* what, std::uint32_t mask, MemoryOrder order, Effect effect) {
  Warp& warp = *current->warp;
  const std::uint32_t lane_bit = 1U << (current->number % kWarpSize);
  if ((mask & lane_bit) == 0)
    machine.fail(fmt::format("{} by a lane that its mask {:#x} leaves out", what, mask));
  // Lanes may take different branches, as long as no two meetings wait for each other's lanes.
  for (const Meeting& other : warp.meetings) {
    const bool same = std::string_view(other.what) == what && other.mask == mask;
    if (!same && (other.mask & lane_bit) != 0 && (other.arrived & mask) != 0) {
      machine.fail(fmt::format("the warp has diverged: {} (mask {:#x}) here, {} (mask {:#x}) at {}", what,
                               mask, other.what, other.mask, where(other.pc)));
    }
  }
  auto meeting = std::find_if(warp.meetings.begin(), warp.meetings.end(), [&](const Meeting& other) {
    return std::string_view(other.what) == what && other.mask == mask;
  });
  if (meeting == warp.meetings.end()) {
    meeting = warp.meetings.insert(meeting, {what, mask, 0, current->pc});
  }
  meeting->arrived |= lane_bit;
  if (meeting->arrived == mask) {
    warp.meetings.erase(meeting);
    effect();
    if (order == MemoryOrder::Orders) share_clocks(mask);
    warp.met |= mask & ~lane_bit;
    machine.wake(&warp.waiting);
    return;
  }
  while ((warp.met & lane_bit) == 0) machine.block(&warp.waiting, what);
  warp.met &= ~lane_bit;
}

// One lane after the other does its part of the instruction, as if it had just come back from waiting. Checks are made
// for that lane, and a fault is reported as its fault.
template <typename Visit>
void as_each_lane(Visit visit) {
  Thread* const last = current;
  Thread* const first = last - last->number % kWarpSize;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    current = first + lane;
    visit(static_cast<std::size_t>(lane));
  }
  current = last;
}

// The elements of an 8x8 matrix that lane `lane` holds, by rows.
std::uint32_t matrix_register(const std::array<std::uint16_t, 8>* rows, std::size_t lane, bool transpose) {
  const std::size_t line = lane / 4;
  const std::size_t first = lane % 4 * 2;
  const std::uint32_t low = transpose ? rows[first][line] : rows[line][first];
  const std::uint32_t high = transpose ? rows[first + 1][line] : rows[line][first + 1];
  return low | high << 16;
}

// D[16, 8] += A[16, depth] * B[depth, 8], PTX ISA "Matrix Fragments for mma.m16n8k16". As with wgmma, the products are
// added to each other first, and then to the accumulator.
void multiply(std::array<WarpOperands, kWarpSize>* lanes, std::size_t depth, bool half) {
  constexpr std::size_t kRows = 16;
  constexpr std::size_t kColumns = 8;
  constexpr std::size_t kMaxDepth = 16;
  const auto to_float = [half](std::uint32_t pair, std::size_t i) {
    const auto bits = static_cast<std::uint16_t>(pair >> (16 * i));
    return half ? half_to_float(bits) : bf16_to_float(bits);
  };
  std::array<std::array<float, kMaxDepth>, kRows> a{};
  std::array<std::array<float, kColumns>, kMaxDepth> b{};
  for (std::size_t t = 0; t < kWarpSize; ++t) {
    const WarpOperands& lane = (*lanes)[t];
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t k = t % 4 * 2 + i;
      for (std::size_t r = 0; r < depth / 4; ++r)
        a[t / 4 + r % 2 * 8][k + r / 2 * 8] = to_float(lane.a[r], i);
      for (std::size_t r = 0; r < depth / 8; ++r) b[k + r * 8][t / 4] = to_float(lane.b[r], i);
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    std::array<float, kColumns> sums{};
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t column = 0; column < kColumns; ++column) sums[column] += a[row][k] * b[k][column];
    }
    for (std::size_t column = 0; column < kColumns; ++column) {
      (*lanes)[row % 8 * 4 + column / 2].accum[row / 8 * 2 + column % 2] += sums[column];
    }
  }
}

}  // namespace

void sync_warp(std::uint32_t mask) {
  HG_ENTER();
  meet("__syncwarp()", mask, MemoryOrder::Orders, [] {});
}

std::uint32_t shuffle(std::uint32_t mask, std::uint32_t value, int source_lane) {
  HG_ENTER();
  Warp& warp = *current->warp;
  const auto lane = static_cast<std::size_t>(current->number % kWarpSize);
  warp.values[lane] = value;
  warp.sources[lane] = source_lane % kWarpSize;
  meet("__shfl_sync()", mask, MemoryOrder::None, [&] {
    for_each_lane(mask, [&](std::size_t other) {
      warp.results[other] = warp.values[static_cast<std::size_t>(warp.sources[other])];
    });
  });
  return warp.results[lane];
}

std::uint32_t ballot(std::uint32_t mask, bool predicate) {
  HG_ENTER();
  Warp& warp = *current->warp;
  const auto lane = static_cast<std::size_t>(current->number % kWarpSize);
  warp.values[lane] = predicate ? 1 : 0;
  meet("__ballot_sync()", mask, MemoryOrder::None, [&] {
    std::uint32_t votes = 0;
    for_each_lane(mask, [&](std::size_t other) { votes |= warp.values[other] << other; });
    for_each_lane(mask, [&](std::size_t other) { warp.results[other] = votes; });
  });
  return warp.results[lane];
}

bool elect(std::uint32_t mask) {
  HG_ENTER();
  meet("elect.sync", mask, MemoryOrder::None, [] {});
  return current->number % kWarpSize == std::countr_zero(mask);
}

void load_matrices(std::uint32_t* registers, std::uint32_t row, int matrices, bool transpose) {
  HG_ENTER();
  constexpr std::uint32_t kRowBytes = 16;
  constexpr std::size_t kRows = 8;
  Warp& warp = *current->warp;
  const auto lane = static_cast<std::size_t>(current->number % kWarpSize);
  const std::size_t rows = kRows * static_cast<std::size_t>(matrices);
  if (lane < rows) {
    const SharedPlace place = place_of(row, kRowBytes, "a row of ldmatrix");
    if (place.address % kRowBytes != 0) {
      machine.fail(fmt::format("ldmatrix loads a row at {:#x}, which is not 16-byte aligned", place.address));
    }
    warp.values[lane] = place.address;
  }
  constexpr const char* kNames[2][5] = {
      {"", "ldmatrix.x1", "ldmatrix.x2", "", "ldmatrix.x4"},
      {"", "ldmatrix.x1.trans", "ldmatrix.x2.trans", "", "ldmatrix.x4.trans"}};
  // Every lane answers for the row whose address it gives.
  meet(kNames[transpose ? 1 : 0][matrices], kAllLanes, MemoryOrder::None, [&] {
    as_each_lane([&](std::size_t other) {
      if (other >= rows) return;
      const unsigned char* const source = current->cta->shared + (warp.values[other] - kSharedWindow);
      note_shared_read(source, kRowBytes);
      std::memcpy(warp.rows[other].data(), source, kRowBytes);
    });
  });
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrices); ++i) {
    registers[i] = matrix_register(&warp.rows[i * kRows], lane, transpose);
  }
}

void mma(float* accum, const std::uint32_t* a, const std::uint32_t* b, int depth, bool half) {
  HG_ENTER();
  WarpOperands& own = current->warp->operands[static_cast<std::size_t>(current->number % kWarpSize)];
  const auto terms = static_cast<std::size_t>(depth);
  std::copy(accum, accum + own.accum.size(), own.accum.begin());
  std::copy(a, a + terms / 4, own.a.begin());
  std::copy(b, b + terms / 8, own.b.begin());
  const char* const name = depth == 16 ? (half ? "mma.m16n8k16 of f16" : "mma.m16n8k16 of bf16")
                                       : (half ? "mma.m16n8k8 of f16" : "mma.m16n8k8 of bf16");
  meet(name, kAllLanes, MemoryOrder::None, [&] { multiply(&current->warp->operands, terms, half); });
  std::copy(own.accum.begin(), own.accum.end(), accum);
}

void converge_warp(const char* instruction) {
  HG_ENTER();
  meet(instruction, kAllLanes, MemoryOrder::None, [] {});
}

void store_matrices(std::uint32_t row, const std::uint32_t* registers, int matrices, bool transpose) {
  HG_ENTER();
  constexpr std::uint32_t kRowBytes = 16;
  constexpr int kRows = 8;
  Warp& warp = *current->warp;
  const int lane = current->number % kWarpSize;
  for (int i = 0; i < matrices; ++i) {
    warp.registers[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i)] = registers[i];
  }
  const bool gives_row = lane < kRows * matrices;
  if (gives_row) {
    const SharedPlace place = place_of(row, kRowBytes, "a row of stmatrix");
    if (place.address % kRowBytes != 0) {
      machine.fail(
          fmt::format("stmatrix stores a row at {:#x}, which is not 16-byte aligned", place.address));
    }
    warp.values[static_cast<std::size_t>(lane)] = place.address;
  }
  // Every lane answers for the row whose address it gives, since all lanes have to fence anyway.
  meet("stmatrix", kAllLanes, MemoryOrder::None, [] {});
  if (gives_row) {
    const std::uint32_t address = warp.values[static_cast<std::size_t>(lane)];
    const auto matrix = static_cast<std::size_t>(lane / kRows);
    unsigned char* const destination = current->cta->shared + (address - kSharedWindow);
    std::array<std::uint16_t, kRows> elements{};
    for (int column = 0; column < kRows; ++column) {
      const int r = transpose ? column : lane % kRows;
      const int c = transpose ? lane % kRows : column;
      const std::uint32_t pair =
          warp.registers[static_cast<std::size_t>(r) * 4 + static_cast<std::size_t>(c) / 2][matrix];
      elements[static_cast<std::size_t>(column)] = static_cast<std::uint16_t>(c % 2 == 0 ? pair : pair >> 16);
    }
    note_shared_write(destination, kRowBytes);
    std::memcpy(destination, elements.data(), kRowBytes);
  }
  // No lane may go on and change its registers while other lanes still store them.
  meet("stmatrix", kAllLanes, MemoryOrder::None, [] {});
}

}  // namespace hopper_gemm::emulator
