// The ring of stages with its barriers as the PTX ISA describes them, on the CPU: whatever the interleaving,
// and whenever copies land, each K block is read once and in order, none is overwritten before it is read,
// and nobody waits for ever. Alone, and as a cluster of two CTAs whose producers each fill a part of both
// rings.

#include "device/pipeline_state.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace hopper_gemm {
namespace {

// The arrivals of one phase, and the parity wait. Landing bytes are arrivals too: one for each part of a
// stage.
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

enum class Release { AtOnce, OneBlockLater };

constexpr int kNothing = -1;
constexpr int kConsumersOfCta = 2;

template <int kNumStages>
class Cluster {
 public:
  Cluster(int num_ctas, int num_blocks, Release release)
      : num_blocks_(num_blocks),
        release_(release),
        ctas_(static_cast<std::size_t>(num_ctas), Cta(num_ctas)) {}

  // One step of somebody, chosen at random. False if nothing could be done.
  bool step(std::mt19937& random) {
    const std::size_t roles = ctas_.size() * (1 + kConsumersOfCta) + 1;
    const std::size_t role = random() % roles;
    if (role == roles - 1) return land_a_copy(random);
    Cta& cta = ctas_[role % ctas_.size()];
    const std::size_t of_cta = role / ctas_.size();
    return of_cta == 0 ? produce(&cta) : consume(&cta, &cta.consumers[of_cta - 1]);
  }

  bool done() const {
    for (const Cta& cta : ctas_) {
      for (const Consumer& consumer : cta.consumers) {
        if (consumer.next_block != num_blocks_) return false;
      }
    }
    return true;
  }

  int faults() const { return faults_; }

 private:
  using State = PipelineState<kNumStages>;

  struct Consumer {
    State state;
    int next_block = 0;
    bool holds = false;  // the stage of the block before
    std::size_t held_stage = 0;
  };

  struct Stage {
    explicit Stage(int num_ctas)
        : full(1 + num_ctas),
          empty(kConsumersOfCta * num_ctas),
          parts(static_cast<std::size_t>(num_ctas), kNothing) {}
    Barrier full;   // the producer's own arrival, and a part from every CTA
    Barrier empty;  // every consumer of every CTA
    std::vector<int> parts;
  };

  struct Cta {
    explicit Cta(int num_ctas) : stages(kNumStages, Stage(num_ctas)), consumers(kConsumersOfCta) {}
    std::vector<Stage> stages;
    std::vector<Consumer> consumers;
    State producer;
    int filled = 0;
  };

  struct Copy {
    Stage* stage;
    std::size_t part;
    int block;
  };

  bool produce(Cta* cta) {
    const auto index = static_cast<std::size_t>(cta->producer.stage);
    if (cta->filled == num_blocks_ || !cta->stages[index].empty.complete(cta->producer.phase ^ 1))
      return false;
    cta->stages[index].full.arrive();
    const auto part = static_cast<std::size_t>(cta - ctas_.data());
    for (Cta& receiver : ctas_) {
      Stage& stage = receiver.stages[index];
      // The copy may land from now on: nobody may still have to read what it overwrites.
      for (const Consumer& consumer : receiver.consumers)
        faults_ += consumer.next_block <= stage.parts[part] ? 1 : 0;
      in_flight_.push_back({&stage, part, cta->filled});
    }
    ++cta->filled;
    cta->producer.advance();
    return true;
  }

  bool land_a_copy(std::mt19937& random) {
    if (in_flight_.empty()) return false;
    const std::size_t chosen = random() % in_flight_.size();
    const Copy copy = in_flight_[chosen];
    in_flight_[chosen] = in_flight_.back();
    in_flight_.pop_back();
    copy.stage->parts[copy.part] = copy.block;
    copy.stage->full.arrive();
    return true;
  }

  bool consume(Cta* cta, Consumer* consumer) {
    const auto index = static_cast<std::size_t>(consumer->state.stage);
    if (consumer->next_block == num_blocks_ || !cta->stages[index].full.complete(consumer->state.phase))
      return false;
    for (const int block : cta->stages[index].parts) faults_ += block != consumer->next_block ? 1 : 0;
    if (consumer->holds) release(consumer->held_stage);
    consumer->holds = release_ == Release::OneBlockLater && consumer->next_block + 1 < num_blocks_;
    consumer->held_stage = index;
    if (!consumer->holds) release(index);
    ++consumer->next_block;
    consumer->state.advance();
    return true;
  }

  void release(std::size_t index) {
    for (Cta& cta : ctas_) cta.stages[index].empty.arrive();
  }

  int num_blocks_;
  Release release_;
  int faults_ = 0;
  std::vector<Cta> ctas_;
  std::vector<Copy> in_flight_;
};

struct Outcome {
  bool hung;
  int faults;
};

template <int kNumStages>
Outcome run(int num_ctas, int num_blocks, Release release, unsigned seed) {
  Cluster<kNumStages> cluster(num_ctas, num_blocks, release);
  std::mt19937 random(seed);
  constexpr int kMostWaits = 2000;
  int waits = 0;
  while (!cluster.done() && waits < kMostWaits) waits = cluster.step(random) ? 0 : waits + 1;
  return {!cluster.done(), cluster.faults()};
}

// K blocks of a tile and tiles of a CTA: all remainders by the number of stages, in the first round and later
// ones.
template <int kNumStages>
void expect_no_faults(Release release) {
  for (const int num_ctas : {1, 2}) {
    for (int blocks_of_tile = 1; blocks_of_tile <= 2 * kNumStages + 1; ++blocks_of_tile) {
      for (int tiles = 1; tiles <= 5; ++tiles) {
        const Outcome outcome = run<kNumStages>(num_ctas, blocks_of_tile * tiles, release, kNumStages);
        SCOPED_TRACE(testing::Message() << num_ctas << " CTAs, " << kNumStages << " stages, "
                                        << blocks_of_tile << " blocks of " << tiles << " tiles");
        EXPECT_FALSE(outcome.hung);
        EXPECT_EQ(outcome.faults, 0);
      }
    }
  }
}

TEST(PipelineState, NeitherHangsNorOverwrites) {
  expect_no_faults<1>(Release::AtOnce);
  expect_no_faults<2>(Release::AtOnce);
  expect_no_faults<3>(Release::AtOnce);
  expect_no_faults<4>(Release::AtOnce);
}

// As in version 8 and later, whose consumers keep a wgmma group in flight.
TEST(PipelineState, NeitherHangsNorOverwritesWithAReleaseOneBlockLater) {
  expect_no_faults<2>(Release::OneBlockLater);
  expect_no_faults<3>(Release::OneBlockLater);
  expect_no_faults<4>(Release::OneBlockLater);
}

// That the model sees a hang at all: who holds the only stage waits for it.
TEST(PipelineState, HangsWithOneStageThatIsReleasedLater) {
  EXPECT_TRUE(run<1>(1, 3, Release::OneBlockLater, 1).hung);
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
