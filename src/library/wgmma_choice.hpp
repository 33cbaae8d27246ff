#pragma once

#include <functional>
#include <string>
#include <vector>

#include "library/backend.hpp"
#include "library/wgmma_tile.hpp"

namespace hopper_gemm::library::wgmma {

/// Elements along K of a stage.
inline constexpr int kBlockK = 64;

/// The largest cluster that every sm_90 GPU runs.
inline constexpr int kMaxSplit = 8;

/// A tile, and how many CTAs share a tile's K.
struct Choice {
  Tile tile;
  int split;

  friend bool operator==(const Choice&, const Choice&) = default;
};

inline int cluster_size(const Choice& choice) { return cluster_size(choice.tile) * choice.split; }

/// "wgmma_128x256_s4_c2x1", and "_k4" behind it where 4 CTAs share a tile's K.
std::string name_of(const Choice& choice);

/// All that a name can mean: every compiled tile, by each split that it can have.
std::vector<Choice> all_choices();

/// How many clusters of a choice the GPU runs at a time.
using ActiveClusters = std::function<int(const Choice&)>;

/// A choice with the time that it should take.
struct Estimate {
  Choice choice;
  double time_us;
  int waves;  ///< of clusters, one after the other
};

/// How long the problem should take by `choice`.
Estimate estimate(const KernelArgs& args, const Choice& choice, const ActiveClusters& active_clusters);

/// All choices that the problem allows, the fastest first.
std::vector<Estimate> ranked(const KernelArgs& args, const ActiveClusters& active_clusters);

}  // namespace hopper_gemm::library::wgmma
