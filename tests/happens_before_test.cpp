#include "emulator/happens_before.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace hopper_gemm::emulator {
namespace {

constexpr std::size_t kThreads = 12;
constexpr std::size_t kBarriers = 3;
constexpr std::size_t kComponents = kThreads + kBarriers + 1;  // the last one is a warpgroup's
constexpr std::size_t kWarpgroup = kComponents - 1;

/// Says the same as a VectorClock, and shares nothing.
using PlainClock = std::array<std::uint32_t, kComponents>;

void join(PlainClock* clock, const PlainClock& other) {
  std::transform(clock->begin(), clock->end(), other.begin(), clock->begin(),
                 [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
}

struct PlainBarrier {
  PlainClock arriving{};
  PlainClock completed{};
};

/// Threads that arrive at barriers, wait for them, meet, and wait for wgmma groups, in an order that the seed draws.
class Cluster {
 public:
  explicit Cluster(unsigned seed) : random_(seed) {
    for (std::size_t thread = 0; thread < kThreads; ++thread) tick(thread);
  }

  void step() {
    const std::size_t thread = below(kThreads);
    const std::size_t barrier = below(kBarriers);
    switch (below(7)) {
      case 0:
      case 1: arrive(thread, barrier); break;
      case 2: all_arrive_and_wait(barrier); break;
      case 3: learn(thread, barrier); break;
      case 4: meet(thread / 4 * 4); break;
      case 5: wait_for_wgmma(thread); break;
      default: complete_copy(barrier); break;
    }
  }

  void expect_equal_clocks() const {
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      for (std::size_t component = 0; component < kComponents; ++component) {
        ASSERT_EQ(clocks_[thread][component], plain_clocks_[thread][component])
            << "thread " << thread << ", component " << component;
        ASSERT_TRUE(clocks_[thread].knows(component, plain_clocks_[thread][component]));
        ASSERT_FALSE(clocks_[thread].knows(component, plain_clocks_[thread][component] + 1));
      }
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void tick(std::size_t thread) {
    clocks_[thread].tick(thread);
    ++plain_clocks_[thread][thread];
  }
  void arrive(std::size_t thread, std::size_t barrier) {
    barriers_[barrier].arriving.join(clocks_[thread]);
    join(&plain_barriers_[barrier].arriving, plain_clocks_[thread]);
    tick(thread);
  }
  void complete(std::size_t barrier) {
    barriers_[barrier].complete();
    plain_barriers_[barrier].completed = plain_barriers_[barrier].arriving;
  }
  void learn(std::size_t thread, std::size_t barrier) {
    clocks_[thread].learn(barriers_[barrier].completed);
    join(&plain_clocks_[thread], plain_barriers_[barrier].completed);
  }
  void all_arrive_and_wait(std::size_t barrier) {
    for (std::size_t thread = 0; thread < kThreads; ++thread) arrive(thread, barrier);
    complete(barrier);
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      if (below(4) != 0) learn(thread, barrier);
    }
  }
  void meet(std::size_t first) {
    VectorClock joined = clocks_[first];
    PlainClock plain = plain_clocks_[first];
    for (std::size_t lane = first; lane < first + 4; ++lane) {
      joined.join(clocks_[lane]);
      join(&plain, plain_clocks_[lane]);
    }
    joined.share_own();
    for (std::size_t lane = first; lane < first + 4; ++lane) {
      clocks_[lane] = joined;
      plain_clocks_[lane] = plain;
      tick(lane);
    }
  }
  void wait_for_wgmma(std::size_t thread) {
    const auto group = static_cast<std::uint32_t>(below(50));
    clocks_[thread].learn(kWarpgroup, group);
    plain_clocks_[thread][kWarpgroup] = std::max(plain_clocks_[thread][kWarpgroup], group);
  }
  void complete_copy(std::size_t barrier) {
    const std::size_t component = kThreads + barrier;
    const std::uint32_t piece = plain_barriers_[barrier].arriving[component] + 1;
    barriers_[barrier].arriving.raise(component, piece);
    plain_barriers_[barrier].arriving[component] = piece;
    if (below(2) == 0) complete(barrier);
  }

  std::mt19937 random_;
  std::array<VectorClock, kThreads> clocks_;
  std::array<PlainClock, kThreads> plain_clocks_{};
  std::array<BarrierClock, kBarriers> barriers_;
  std::array<PlainBarrier, kBarriers> plain_barriers_{};
};

TEST(VectorClock, SaysWhatAClockThatSharesNothingSays) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Cluster cluster(seed);
    for (int step = 0; step < 200; ++step) {
      cluster.step();
      ASSERT_NO_FATAL_FAILURE(cluster.expect_equal_clocks()) << "after step " << step;
    }
  }
}

TEST(VectorClock, LearnsOfItsOwnClusterFromOutside) {
  VectorClock sender;
  sender.tick(3);
  sender.learn(5, 7);
  const VectorClock outside = sender.seen_from_outside(1);

  VectorClock of_another_cluster;
  of_another_cluster.tick(0);
  of_another_cluster.learn_outside(outside, 2);
  EXPECT_TRUE(of_another_cluster.knows_of(1, 3, 1));
  EXPECT_TRUE(of_another_cluster.knows_of(1, 5, 7));
  EXPECT_FALSE(of_another_cluster.knows_of(1, 5, 8));
  EXPECT_FALSE(of_another_cluster.knows(5, 7));

  VectorClock of_this_cluster;
  of_this_cluster.tick(0);
  of_this_cluster.learn_outside(of_another_cluster.seen_from_outside(2), 1);
  EXPECT_TRUE(of_this_cluster.knows(3, 1));
  EXPECT_TRUE(of_this_cluster.knows(5, 7));
  EXPECT_TRUE(of_this_cluster.knows_of(2, 0, 1));
}

}  // namespace
}  // namespace hopper_gemm::emulator
