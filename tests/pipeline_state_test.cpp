// The ring of stages with its barriers as the PTX ISA describes them, on the CPU: whatever the interleaving,
// each K block is read once and in order, none is overwritten before it is read, and nobody waits for ever.

#include "hopper_gemm/pipeline_state.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <utility>

namespace hopper_gemm {
namespace {

// The arrivals of one phase, and the parity wait.
class Barrier {
 public:
  explicit Barrier(int count) : count_(count), pending_(count) {}

  void arrive() {
    if (--pending_ == 0) {
      ++phase_;
      pending_ = count_;
    }
  }

  // True if the phase before the current one has this parity: of phase 0, that is parity 1.
  bool complete(std::uint32_t parity) const { return (phase_ & 1) != parity; }

 private:
  int count_;
  int pending_;
  std::uint32_t phase_ = 0;
};

constexpr int kNothing = -1;

template <int kNumStages, int kNumConsumers>
class Ring {
 public:
  explicit Ring(int num_blocks) : num_blocks_(num_blocks) { content_.fill(kNothing); }

  // One step of the producer (0) or of a consumer (1 …). False if it has to wait, or is done.
  bool step(int role) { return role == 0 ? produce() : consume(role - 1); }

  bool done() const {
    for (const Consumer& consumer : consumers_) {
      if (consumer.next_block != num_blocks_) return false;
    }
    return true;
  }

  int faults() const { return faults_; }

 private:
  using State = PipelineState<kNumStages>;
  struct Consumer {
    State state;
    int next_block = 0;
  };

  static constexpr int kFullArrivals = 1;

  bool produce() {
    const auto stage = static_cast<std::size_t>(producer_.stage);
    if (filled_ == num_blocks_ || !empty_[stage].complete(producer_.phase ^ 1)) return false;
    for (const Consumer& consumer : consumers_) faults_ += consumer.next_block <= content_[stage] ? 1 : 0;
    content_[stage] = filled_++;
    full_[stage].arrive();
    producer_.advance();
    return true;
  }

  bool consume(int index) {
    Consumer& consumer = consumers_[static_cast<std::size_t>(index)];
    const auto stage = static_cast<std::size_t>(consumer.state.stage);
    if (consumer.next_block == num_blocks_ || !full_[stage].complete(consumer.state.phase)) return false;
    faults_ += content_[stage] != consumer.next_block ? 1 : 0;
    ++consumer.next_block;
    empty_[stage].arrive();
    consumer.state.advance();
    return true;
  }

  template <std::size_t... kIndex>
  static std::array<Barrier, kNumStages> barriers(int count, std::index_sequence<kIndex...>) {
    return {((void)kIndex, Barrier(count))...};
  }

  int num_blocks_;
  int filled_ = 0;
  int faults_ = 0;
  State producer_;
  std::array<Consumer, kNumConsumers> consumers_{};
  std::array<int, kNumStages> content_{};
  std::array<Barrier, kNumStages> full_ = barriers(kFullArrivals, std::make_index_sequence<kNumStages>());
  std::array<Barrier, kNumStages> empty_ = barriers(kNumConsumers, std::make_index_sequence<kNumStages>());
};

template <int kNumStages>
void run_random_interleavings() {
  constexpr int kNumConsumers = 2;
  std::mt19937 random(kNumStages);
  std::uniform_int_distribution<int> role(0, kNumConsumers);
  // K blocks of a tile and tiles of a CTA: all remainders by the number of stages, in the first round and
  // later ones.
  for (int blocks_of_tile = 1; blocks_of_tile <= 2 * kNumStages + 1; ++blocks_of_tile) {
    for (int tiles = 1; tiles <= 5; ++tiles) {
      Ring<kNumStages, kNumConsumers> ring(blocks_of_tile * tiles);
      constexpr int kMostWaits = 10000;
      int waits = 0;
      while (!ring.done() && waits < kMostWaits) waits = ring.step(role(random)) ? 0 : waits + 1;
      EXPECT_TRUE(ring.done()) << kNumStages << " stages, " << blocks_of_tile << " blocks, " << tiles
                               << " tiles hang";
      EXPECT_EQ(ring.faults(), 0) << kNumStages << " stages, " << blocks_of_tile << " blocks, " << tiles
                                  << " tiles";
    }
  }
}

TEST(PipelineState, NeitherHangsNorOverwrites) {
  run_random_interleavings<1>();
  run_random_interleavings<2>();
  run_random_interleavings<3>();
  run_random_interleavings<4>();
  run_random_interleavings<7>();
}

TEST(PipelineState, ChangesItsPhaseOncePerRound) {
  PipelineState<3> state;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(state.stage, i % 3);
    EXPECT_EQ(state.phase, static_cast<std::uint32_t>(i / 3 % 2));
    state.advance();
  }
}

}  // namespace
}  // namespace hopper_gemm
