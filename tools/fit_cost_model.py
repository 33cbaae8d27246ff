#!/usr/bin/env python3
"""Fits the coefficients of the library's cost model (src/library/wgmma_choice.cpp) to measured times.

usage: fit_cost_model.py [--steps N] [--seed N] [--whole] CSV...
  CSV  what `matmul tune best --suite library --suite long_k --csv` wrote: a row for each configuration at each shape.
       Of a shape in several files the last one by date counts
  --whole  leave out shapes with more than 64 rows or columns that are 8 more than a multiple of 16: tiles that reached
           beyond D took longer until they ended with it (profiles/experiments.md, 27)

Prints the coefficients, and for every shape which configuration the model takes, how much longer that runs than the best
one that was measured, and how far the model's time is off. The model is that of estimate(): change both together. A
random search from the coefficients of today, which makes the choices good first and the times right second; it says what
it found, and what stands in the source is for a person to round and enter. The kernels with tiles of two widths have a
model of their own, and are left out. Some coefficients are held; of the others launches, clusters and memory move both
models: look at the choices of large shapes, too.
"""

import argparse
import csv
import math
import random
import re

# As in wgmma_choice.cpp; microseconds, bytes, operations.
START = {
    "kLaunchUs": 1.3,
    "kOverlapUs": 0.28,
    "kFillUs": 0.08,
    "kClusterUs": 0.65,
    "kReduceUs": 2.0,
    "kReduceElemsPerUs": 5100,
    "kSkinnyReduceUs": 0.53,
    "kSlicesUs": 7.7,
    "kMemoryBytesPerUs": 3.78e6,
    "kSkinnyBytesPerUs": 4.25e6,
    "kL2BytesPerUs": 9.1e6,
    "kSmBytesPerUs": 1.2e5,
    "kSkinnySmBytesPerUs": 8.0e4,
    "kSmLinesPerUs": 1260,
    "kSmFlopsPerUs": 6.65e6,
    "kBlockUs": 0.202,
    "kSkinnyBlockUs": 0.106,
    "kStoreElemsPerUs": 3.5e4,
    "slowness of block_n 64": 1.2,
    "slowness of one consumer": 1.08,
    "slowness of small tiles": 1.04,
}
# What no search changes: rates that the model of tiles of two widths has, too; and how much slower small tiles multiply,
# of which small shapes say too little, so that large ones would get small tiles in clusters of 2x2.
HELD = {"kL2BytesPerUs", "kSmBytesPerUs", "kSmLinesPerUs", "kSmFlopsPerUs", "kStoreElemsPerUs",
        "slowness of small tiles"}
# Clusters of so many CTAs that an H200 runs at a time, as cudaOccupancyMaxActiveClusters says for CTAs that fill an SM.
ACTIVE_CLUSTERS = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 7: 15, 8: 15}
OF_TWO_WIDTHS = {"wgmma_256x192_s4_c1x2", "wgmma_128x192_s5_c1x2", "wgmma_128x176_s5_c1x2", "wgmma_128x144_s5_c1x2"}
# What was measured once.
GONE = {"wgmma_256x192_s3_c1x2", "wgmma_64x192_s6_c2x1", "wgmma_32x64_s4_c1x1_k8", "wgmma_32x64_s6_c1x1_k8",
        "wgmma_32x64_s17_c1x1_k8"}
# What an SM has for the CTAs that share it, and what one takes at least beside its stages.
SHARED_BYTES = 228 * 1024
RESERVED_BYTES = 2 * 1024
# shares_an_sm() of wgmma_tile.hpp
HALF_BYTES = 113 * 1024
# is_for_kernel_of() of wgmma_choice.cpp
MOST_SKINNY_TILES = 2
# can_overlap() there
FEW_US = 15
MANY_US = 100
MOST_OF_THEM = 0.95
MANY_OF_THEM = 0.8
BLOCK_K = 64
WGMMA_M = 64
ELEM_BYTES = 2
# How much the worst choice counts beside the mean, and how much the times beside the choices.
WORST_WEIGHT = 0.1
TIME_WEIGHT = 0.5
# Times of configurations that nobody would choose need not be right.
WORTH_FITTING = 1.6


def ceil_div(dividend, divisor):
    return -(-dividend // divisor)


def parse_config(name):
    """(block_m, block_n, block_k, stages, cluster_m, cluster_n, split, slices), or None."""
    match = re.fullmatch(r"wgmma_(\d+)x(\d+)(?:x(\d+))?_s(\d+)_c(\d)x(\d)(?:_k(\d)(?:x(\d+))?)?", name)
    if match is None or name in OF_TWO_WIDTHS | GONE:
        return None
    block_m, block_n, block_k, *others = match.groups()
    return (int(block_m), int(block_n), int(block_k or BLOCK_K), *(int(field or 1) for field in others))


def is_skinny(block_m, block_k):
    return block_m < 64 or block_k != BLOCK_K


def stages_bytes(block_m, block_n, block_k, stages):
    lines_n = ceil_div(block_n, WGMMA_M) * WGMMA_M if is_skinny(block_m, block_k) else block_n
    return stages * (block_m + lines_n) * block_k * ELEM_BYTES


def shares_an_sm(*tile):
    """Whether an SM has room for several CTAs of the skinny kernel; tile: block_m, block_n, block_k, stages."""
    return is_skinny(tile[0], tile[2]) and stages_bytes(*tile) <= HALF_BYTES


def active_clusters(size, *tile):
    """How many clusters run at a time: of the skinny kernel's small CTAs several share an SM."""
    if not is_skinny(tile[0], tile[2]):
        return ACTIVE_CLUSTERS[size]
    return ACTIVE_CLUSTERS[size] * (SHARED_BYTES // (stages_bytes(*tile) + RESERVED_BYTES))


def read_times(paths):
    """{(m, n, k): {configuration's name: microseconds}}, burst mode, of each shape's last run."""
    runs = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["version"] != "best" or row["mode"] != "burst" or not row["time_median_us"]:
                    continue
                config = parse_config(row["config"])
                shape = tuple(int(row[extent]) for extent in "mnk")
                if config is None:
                    continue
                block_m, _, block_k, *_ = config
                if is_skinny(block_m, block_k) and shape[0] > MOST_SKINNY_TILES * block_m:
                    continue
                run = runs.setdefault(shape, {}).setdefault(row["date"], {})
                run[row["config"]] = float(row["time_median_us"])
    return {shape: of_shape[max(of_shape)] for shape, of_shape in runs.items()}


def has_whole_tiles(shape):
    """See --whole."""
    return all(extent <= WGMMA_M or extent % 16 != 8 for extent in shape[:2])


def both(x, y):
    """A little more than the longer of two times that overlap."""
    return (x**4 + y**4) ** 0.25


def can_overlap(size, clusters, active, busy_us, skinny, shares):
    """can_overlap() of wgmma_choice.cpp. shares: see shares_an_sm()."""
    if size == 1:
        if busy_us < FEW_US:
            return True
        if skinny:
            return clusters <= active or not shares
        # As many as take equally many tiles: even_waves().
        ctas = ceil_div(clusters, ceil_div(clusters, active))
        return ctas >= MOST_OF_THEM * active
    if clusters > active:
        return False
    takes_long = busy_us > MANY_US
    is_short = busy_us < FEW_US
    has_room = 2 * clusters <= active
    leaves_none = clusters >= MANY_OF_THEM * active
    if takes_long:
        return size == 2 and leaves_none and not shares
    if shares:
        return has_room or (leaves_none and (size == 2 or is_short))
    return leaves_none or (is_short if size == 2 else has_room)


def lines_per_row(k):
    """lines_per_row() of wgmma_choice.cpp, of rows that have no pitch but K."""
    pitch_bytes = k * ELEM_BYTES
    if pitch_bytes % 128 == 0:
        return 1.0
    return 1.72 if pitch_bytes % 32 == 0 else 2.76


def estimate(shape, name, model):
    """estimate() of wgmma_choice.cpp for bf16 and one batch."""
    m, n, k = shape
    block_m, block_n, block_k, stages, cluster_m, cluster_n, split, slices = parse_config(name)
    size = cluster_m * cluster_n * split
    clusters = ceil_div(m, block_m * cluster_m) * ceil_div(n, block_n * cluster_n) * slices
    tile = (block_m, block_n, block_k, stages)
    skinny = is_skinny(block_m, block_k)
    active = active_clusters(size, *tile)
    ctas = min(clusters, active) * size
    rows, columns = min(m, block_m), min(n, block_n)
    block_rows = rows / cluster_n + columns / cluster_m
    block_bytes = block_rows * BLOCK_K * ELEM_BYTES
    slowness = 1.0
    if block_n == 64:
        slowness = model["slowness of block_n 64"]
    elif block_m == WGMMA_M and not skinny:
        slowness = model["slowness of one consumer"]
    elif block_m * block_n <= 128 * 128:
        slowness = model["slowness of small tiles"]
    sm_bytes_per_us = model["kSkinnySmBytesPerUs" if skinny else "kSmBytesPerUs"]
    if shares_an_sm(*tile):
        sm_bytes_per_us /= 2
    block_us = max(
        2.0 * block_m * block_n * BLOCK_K / model["kSmFlopsPerUs"] * slowness,
        block_bytes / sm_bytes_per_us,
        block_bytes * ctas / model["kL2BytesPerUs"],
        block_rows * lines_per_row(k) / model["kSmLinesPerUs"],
        model["kSkinnyBlockUs" if skinny else "kBlockUs"])
    k_blocks = ceil_div(ceil_div(k, BLOCK_K), slices)
    elems = rows * columns
    tile_us = ceil_div(k_blocks, split) * block_us + elems / split / model["kStoreElemsPerUs"]
    if split > 1 and skinny:
        tile_us += model["kSkinnyReduceUs"] * split
    elif split > 1:
        tile_us += model["kReduceUs"] + elems * (split - 1) / split / model["kReduceElemsPerUs"]
    bytes_per_us = model["kSkinnyBytesPerUs" if skinny else "kMemoryBytesPerUs"]
    memory_us = ELEM_BYTES * (m * k + n * k + m * n) / bytes_per_us
    full_waves, rest = divmod(clusters, active)
    busy_us = full_waves * both(tile_us, memory_us * active / clusters)
    if rest:
        busy_us += both(tile_us, memory_us * rest / clusters)
    slices_us = 0.0
    if slices > 1:
        sums_bytes = slices * m * ceil_div(n, 4) * 4 * 4
        slices_us = model["kSlicesUs"] + 2.0 * sums_bytes / model["kL2BytesPerUs"]
    if can_overlap(size, clusters, active, busy_us, skinny, shares_an_sm(*tile)):
        overlap_us = model["kOverlapUs"]
    else:
        overlap_us = 0
    return (slices_us + model["kLaunchUs"] - overlap_us + model["kFillUs"] + (model["kClusterUs"] if size > 1 else 0) +
            busy_us)


def chosen(shape, times, model):
    return min(times, key=lambda name: estimate(shape, name, model))


def losses(all_times, model):
    """How many times as long as the best each shape's choice runs."""
    return [times[chosen(shape, times, model)] / min(times.values()) for shape, times in all_times.items()]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def objective(all_times, model):
    of_choices = losses(all_times, model)
    errors = [
        abs(math.log(estimate(shape, name, model) / time))
        for shape, times in all_times.items()
        for name, time in times.items()
        if time < WORTH_FITTING * min(times.values())
    ]
    return (geometric_mean(of_choices) + WORST_WEIGHT * (max(of_choices) - 1) +
            TIME_WEIGHT * sum(errors) / len(errors))


def fit(all_times, steps, seed):
    generator = random.Random(seed)
    model, best = dict(START), objective(all_times, START)
    fitted = [name for name in model if name not in HELD]
    for _ in range(steps):
        candidate = dict(model)
        for name in generator.sample(fitted, generator.choice([1, 2])):
            candidate[name] *= math.exp(generator.gauss(0, 0.1))
        score = objective(all_times, candidate)
        if score < best:
            model, best = candidate, score
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("csv", nargs="+")
    arguments = parser.parse_args()
    times = read_times(arguments.csv)
    if arguments.whole:
        times = {shape: of_shape for shape, of_shape in times.items() if has_whole_tiles(shape)}
    if not times:
        parser.error("no row of version best with a configuration of the wgmma back end, in burst mode")
    model = fit(times, arguments.steps, arguments.seed)
    for label, coefficients in (("before", START), ("after", model)):
        of_choices = losses(times, coefficients)
        print(f"{label}: choices run {geometric_mean(of_choices):.3f} times as long as the best, the worst "
              f"{max(of_choices):.3f}")
    for name, value in model.items():
        print(f"  {name} = {value:.3g}")
    for shape, of_shape in times.items():
        name = chosen(shape, of_shape, model)
        best = min(of_shape, key=of_shape.get)
        print(f"{'x'.join(map(str, shape))}: {name} {of_shape[name]:.2f} us, estimated "
              f"{estimate(shape, name, model):.2f}; best {best} {of_shape[best]:.2f} us")


if __name__ == "__main__":
    main()
