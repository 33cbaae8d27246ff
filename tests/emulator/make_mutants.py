#!/usr/bin/env python3
"""Writes kernels of the ladder and of the library with deliberate mistakes, which the emulator must find.

usage: make_mutants.py SOURCE_ROOT OUTPUT_FOLDER
       make_mutants.py --list

A mutant is a kernel with one mistake. The mutants of a kernel share a program where the mistake can be chosen at run
time: the program holds the right and the wrong expressions or statements, and choose_mutant() says which it executes.
The others, of COMPILED_ALONE, have a program each.

A program's kernel becomes OUTPUT_FOLDER/PROGRAM/kernel.cu. A header that a mistake is in becomes
OUTPUT_FOLDER/PROGRAM/include/... or OUTPUT_FOLDER/PROGRAM/src/..., which are include paths that come before the
project's. OUTPUT_FOLDER/programs.inc tells mutants_test.cpp where each mutant is. That test holds what the emulator
says of each. Files whose text does not change are left alone, so that only the programs of what was edited are compiled
again.
--list prints a line for each program: its name, its namespace, whether it runs once (1 or 0), and the files that it is
made from.
"""

import dataclasses
import pathlib
import sys

import run_time_choice

V02 = "src/ladder/hopper/v02_large_tile.cu"
V04 = "src/ladder/hopper/v04_two_consumers.cu"
V06 = "src/ladder/hopper/v06_ptx_mbarrier.cu"
V07 = "src/ladder/hopper/v07_cluster_multicast.cu"
V09 = "src/ladder/hopper/v09_tma_store.cu"
V11 = "src/ladder/hopper/v11_stmatrix.cu"
V12 = "src/ladder/hopper/v12_uniform.cu"
V14 = "src/ladder/hopper/v14_even_columns.cu"
V15 = "src/ladder/hopper/v15_half_epilogue.cu"
V16 = "src/ladder/hopper/v16_warp_producer.cu"
V17 = "src/ladder/hopper/v17_pace.cu"
V18 = "src/ladder/hopper/v18_fourth_stage.cu"

AMPERE_V2 = "src/ladder/ampere/v2_cp_async.cu"
AMPERE_V3 = "src/ladder/ampere/v3_mma_sync.cu"
AMPERE_V4 = "src/ladder/ampere/v4_swizzle.cu"
AMPERE_V5 = "src/ladder/ampere/v5_multistage.cu"
AMPERE_V6 = "tests/emulator/ampere/v6_one_tile.cu"
V6_GENERAL = "src/ladder/ampere/v6_general.cuh"
MMA_EPILOGUE = "src/device/mma_epilogue.cuh"

SIMT_V1 = "src/ladder/simt/v1_naive.cu"
SIMT_V3 = "src/ladder/simt/v3_smem_tiles.cu"
SIMT_V6 = "src/ladder/simt/v6_vectorized.cu"
SIMT_V7 = "src/ladder/simt/v7_warp_tiling.cu"
SIMT_V8 = "src/ladder/simt/v8_cp_async.cu"
SIMT_GEMM = "src/ladder/simt/simt_gemm.cuh"

LIBRARY = "tests/emulator/instances/cooperative.cu"
COOPERATIVE = "src/gemm/kernel/cooperative.cuh"
PINGPONG = "src/gemm/host/pingpong.cu"
PINGPONG_GEMM = "src/gemm/kernel/pingpong.cuh"
SMALL_M = "src/gemm/host/small_m.cu"
WIDE = "src/gemm/host/cooperative_mixed_n.cu"
WIDE_GEMM = "src/gemm/kernel/cooperative_mixed_n.cuh"
MIXED_N = "src/gemm/kernel/mixed_n.cuh"
MIXED_N_LAUNCH = "src/gemm/host/mixed_n_launcher.hpp"
MAINLOOP = "src/gemm/mainloop/mainloop.cuh"
OPERANDS = "src/gemm/mainloop/operands.cuh"
LOAD_C = "src/gemm/epilogue/load_c.cuh"
BIAS_QUEUE = "src/gemm/epilogue/bias_queue.cuh"
STORE = "src/gemm/epilogue/store.cuh"
SMALL_M_GEMM = "src/gemm/kernel/small_m.cuh"
REDUCE_PARTIALS = "src/gemm/epilogue/reduce_partials.cu"
SPLIT_K_EXCHANGE = "src/gemm/epilogue/split_k_exchange.cuh"

EPILOGUE = "src/device/epilogue.cuh"
PIPELINE = "src/device/pipeline.cuh"
PIPELINE_STATE = "src/device/pipeline_state.hpp"
SMEM_DESCRIPTOR = "src/device/smem_descriptor.hpp"
TILE_QUEUE = "src/device/tile_queue.cuh"
WAVE_PACE = "src/device/wave_pace.cuh"
WAVE_STEPS = "src/device/wave_steps.hpp"

DRAIN = """  // The peer may still arrive on this CTA's barriers.
  barrier_cluster_arrive();
  barrier_cluster_wait();
"""
WAIT_AND_RELEASE = """        wgmma_wait_group<0>();
        wgmma_fence_operand(accum);
        smem.pipeline.consumer_release(state, thread % kWarpgroupThreads);
"""
RELEASE_AND_WAIT = """        smem.pipeline.consumer_release(state, thread % kWarpgroupThreads);
        wgmma_wait_group<0>();
        wgmma_fence_operand(accum);
"""
LAST_WAIT = """      wgmma_wait_group<0>();
      wgmma_fence_operand(accum);
"""
FENCE_AND_SYNC = """          fence_proxy_async_shared_cta();
          __syncwarp();
"""
STAGE = """          stage_fragment_swizzled<__nv_bfloat16, Config::kStoreN>(accum + n / 2, smem_addr(staging), 0, lane);
"""
WAIT_FOR_STAGING = "          if (lane == 0) cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();\n"
K_MAJOR_STRIDE = """kIgnoredLeadingByteOffset = 16;
  constexpr cuda::std::uint32_t kEightRowsBytes = 8 * 128;"""
K_MAJOR_SWIZZLE = "kIgnoredLeadingByteOffset, kEightRowsBytes, Swizzle::B128);"
REGISTERS_FIT = """  static_assert(kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                (1 + kNumConsumers) * kEntryRegisters);
"""
EXPECT = "ptx::mbarrier_arrive_expect_tx(full(state.stage), bytes);"
STAGE_BYTES = "kStageBytes = (BLOCK_M + BLOCK_N) * BLOCK_K * int{sizeof(__nv_bfloat16)};"
EMPTY_COUNT = "kNumConsumers * cluster_size;"
INIT_FENCE = "    fence_mbarrier_init_release_cluster();\n"
ENTRY_BARRIER = "  barrier_cluster_arrive_relaxed();\n  barrier_cluster_wait();\n"
PRODUCER_WAIT = "while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(empty(state.stage), parity)) watchdog.check();"
CONSUMER_LOOP = """      wgmma_fence_operand(accum);
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {"""
PRODUCER_LOOP = """        const int tile_m = cluster_tile.m * Config::kClusterM + cta_rank;
        for (int k_block = 0; k_block < num_k_blocks; ++k_block) {"""
RELEASE_PREVIOUS = "if (k_block != 0) smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);"
STORE_COORDS = ("{cluster_tile.n * Config::BLOCK_N + n, "
                "tile_m * Config::BLOCK_M + warp * Config::kStoreM}")
SEND = """    tiles[state.stage] = tile;
    ptx::mbarrier_arrive(ptx::smem_addr(&full_barrier[state.stage]));
"""
SEND_TOO_EARLY = """    ptx::mbarrier_arrive(ptx::smem_addr(&full_barrier[state.stage]));
    tiles[state.stage] = tile;
"""
RECEIVE = """    const TileCoord tile = tiles[state.stage];
    ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));
"""
RECEIVE_TOO_LATE = """    ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));
    const TileCoord tile = tiles[state.stage];
"""
READER_WAIT = """    watched_wait(ptx::smem_addr(&full_barrier[state.stage]), state.phase, "reader of the tile queue",
                 state.stage);
"""
SCHEDULER_WAIT = ('    watched_wait(ptx::smem_addr(&empty_barrier[state.stage]), state.phase ^ 1, "scheduler", '
                  "state.stage);\n")

COMMIT = "    ptx::cp_async_commit_group();\n"
WAIT_AND_SYNC = """    ptx::cp_async_wait_group<0>();
    __syncthreads();
"""
LOAD_NEXT = "    if (k_block + 1 < num_k_blocks) load_k_block(k_block + 1);\n"
LOAD_OF_A = "ptx::ldmatrix(fragments.a[i], ptx::smem_addr(a + swizzled(row, column)));"
PAIR_OF_B = "fragments.b[j + e / 2][e % 2] = matrices[e];"
LOAD_AHEAD = "    load_k_block(k_block + Config::kNumStages - 1);\n"
WAIT_FOR_RING = "    ptx::cp_async_wait_group<Config::kNumStages - 2>();\n    __syncthreads();\n"
WAIT_FOR_LAST = "  ptx::cp_async_wait_all();\n  __syncthreads();\n"
INSIDE_ROW = "const int inside = tile_row < rows - row ? tile_row : rows - row - 1;"
V6_COPIES_NOTHING = "if (shape.k == 0 || output.alpha == 0) {"
STORE_D_GUARD = "  if (row >= gemm.shape.m || col + offset >= gemm.shape.n) return;\n  float result ="
SIMT_WAIT = "        copy_async_wait_group<Config::kNumStages - 2>();\n"
SIMT_SYNC = "        __syncthreads();\n        if (k_block + 1 < num_k_blocks) advance(stage);\n"
SIMT_TILES_READ = """    // All threads have read the tiles before the next ones replace them.
    __syncthreads();
"""
SIMT_VECTORS = "leading_dimension % kVectorElems == 0 && row_elems % kVectorElems == 0;"
LIBRARY_FENCE = "  ptx::fence_proxy_async_shared_cta();\n  __syncwarp();\n  if (lane == 0) {\n"
LIBRARY_DRAIN = "      if (shares_loads) smem.pipeline.producer_drain_uniform(state, params.used_stages);\n"
LIBRARY_DRAIN_FROM = "    if (used_stages < kNumStages) state = {.stage = 0, .phase = 1};\n"
WIDE_UPPER_DONE = "  wgmma_wait_group<kEnds>();\n  wgmma_fence_operand(upper);\n"
WIDE_LOWER_BEGUN = "  wgmma_wait_group<1>();\n#pragma unroll\n"
WIDE_STORED = "    if (lane == 0) ptx::cp_async_bulk_wait_group_read<0>();\n"
WIDE_ALL_STORED = "    ptx::barrier_sync(stored_barrier(number), kWarpgroupThreads);\n"
ALWAYS_PACE = (WAVE_STEPS, "kFewKBlocks = 1024;", "kFewKBlocks = 0;")
PACE_NEVER_GIVES_UP = (WAVE_PACE, "is_waiting_ = poll < kMostPolls;", "is_waiting_ = true;")
PACE_ASKS_TOO_MUCH = (WAVE_PACE, "(k_blocks_ / kStep - 1) * num_clusters_;", "k_blocks_ / kStep * num_clusters_ + 1;")
IN_FULL_WAVES = """ && is_leader && cta_rank == 0 &&
                                index - first_index + num_clusters <= tiles.wide.num_tiles();
"""
TWO_WIDTH_DRAIN = "      smem.pipeline.producer_drain_uniform(state);\n"
LIBRARY_RELEASE = "    if (i != 0) pipeline.consumer_release(previous, thread);\n"
LIBRARY_SLICE = "  load(first, is_k_major ?"
SUMS_WAIT_FOR_PEERS = """    while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(ptx::smem_addr(&peers_have_multiplied), 0)) {
      watchdog.check();
    }
"""
SUMS_SLOT = "source - (source < owner_of(piece, split) ? 0 : 1);"
SUMS_BARRIER = "ptx::mapa(ptx::smem_addr(&sums_have_come), rank);"
LIBRARY_STAGING = "ptx::cp_async_bulk_wait_group_read<kStoreBuffers - 1>();"
PINGPONG_TURN = "    if (!is_first) barrier_sync(turn_barrier(number), Config::kNumConsumerThreads);\n"
PINGPONG_HAND_ON = "    if (!is_last) barrier_arrive(turn_barrier(1 - number), Config::kNumConsumerThreads);\n"
PINGPONG_SKIP = "      skip_stages<Config>(state, params.num_k_blocks);\n      bias_phase"
SKINNY_COLUMNS = "  if (shape.n - tile.column > params.columns) shape.n = tile.column + params.columns;\n"
SKINNY_TRANSPOSED = "  __syncwarp();\n#pragma unroll\n  for (int e = 0; e < Config::kPiece / 2; ++e) {\n    sums[e] ="
SKINNY_STAGED = "    __syncwarp();\n#pragma unroll 4\n"
SKINNY_SLOT = "slot * (split - 1) + source - (source < owner ? 0 : 1);"
BY_ELEMENTS = "const bool by_elements = corner.column > output.tma_columns - kColumns;"

# The one function that the library of a ladder's mutant shows. mutant_library_launch.cpp has that of the others.
LAUNCH = """
extern "C" __attribute__((visibility("default"))) void launch_mutant(const hopper_gemm::GemmArgs* args,
                                                                     hopper_gemm::Status* status) {{
  *status = hopper_gemm::{namespace}::launch(*args, nullptr);
}}
"""

ALL_CONFIGS = "constexpr auto kConfigs = valid_configs<kAxes, fault_of>();\n"
DEFAULT_CONFIG_CHECK = "static_assert(index_of(kConfigs, kLargeConfig) < kConfigs.size());\n"
DEFAULT_CONFIGS = "constexpr std::array kConfigs = {kLargeConfig, kSmallConfig};\n"

# What no mutant of a kernel runs, and what is compiled in its place. The tiles of the skinny kernel that mutants_test.cpp
# does not ask for stay in the table, without a kernel.
UNUSED = {
    LIBRARY: [(COOPERATIVE, "multiply_layouts<Config, __half>(", "multiply_layouts<Config, __nv_bfloat16>(")],
    SMALL_M: [
        (SMALL_M, "kernels_of<ThisConfig, __half>()", "kernels_of<ThisConfig, __nv_bfloat16>()"),
        (SMALL_M, "  using ThisConfig = Config<kKernel>;\n",
         "  if constexpr (kKernel.block_n == 128 || kKernel.stages == 8) return {kKernel, {}, {}, 0};\n"
         "  else {\n  using ThisConfig = Config<kKernel>;\n"),
        (SMALL_M, "          sizeof(SharedStorage<ThisConfig>)};\n",
         "          sizeof(SharedStorage<ThisConfig>)};\n  }\n")],
    PINGPONG: [
        (MIXED_N_LAUNCH, "kernel_of_majors<__half, ", "kernel_of_majors<__nv_bfloat16, "),
        (MIXED_N_LAUNCH, "Config::kKernel.epilogues != Epilogues::AlphaOnly", "false")],
    WIDE: [
        (MIXED_N_LAUNCH, "kernel_of_majors<__half, ", "kernel_of_majors<__nv_bfloat16, "),
        (MIXED_N_LAUNCH, "Config::kKernel.epilogues != Epilogues::AlphaOnly", "false")],
    SIMT_V8: [(SIMT_V8, ALL_CONFIGS, ""), (SIMT_V8, DEFAULT_CONFIG_CHECK, DEFAULT_CONFIGS + DEFAULT_CONFIG_CHECK)],
}

# A mutant of the library's cooperative kernel compiles one tile, which its name begins with. The runs of the last three
# tiles have K-major operands alone.
TILES = "return shares_loads || shares_k || stores_twice || swaps_ab;"
ONLY_K_MAJOR = (COOPERATIVE, "} else if constexpr (!Config::kBIsKMajor) {", "} else if constexpr (false) {")
ONLY_TILE = {
    "library_64x64_": [(LIBRARY, TILES, "return shares_loads;")],
    "library_128x128_": [(LIBRARY, TILES, "return shares_k;"), ONLY_K_MAJOR],
    "library_64x96_": [(LIBRARY, TILES, "return stores_twice;"), ONLY_K_MAJOR],
    "library_swapped_": [(LIBRARY, TILES, "return swaps_ab;"), ONLY_K_MAJOR],
}

# In a mutant of the general epilogue, no other kernel is compiled, and of two layouts at most.
GENERAL_PREFIX = "library_general_"
GENERAL = [
    (MIXED_N_LAUNCH, "return kernel_of_type<EpilogueKind::AlphaOnly>(args);",
     "return kernel_of_type<EpilogueKind::General>(args);"),
    (MIXED_N_LAUNCH, "Config::kKernel.majors == Majors::Any", "false")]
BIAS_HAS_COME = '    watched_wait(ptx::smem_addr(&full_barrier[state.stage]), state.phase, "reader of the bias", state.stage);\n'
BIAS_SLOT_IS_FREE = """    watched_wait(ptx::smem_addr(&empty_barrier[state.stage]), state.phase ^ 1, "loader of the bias",
                 state.stage);
"""
BIAS_HAS_BEEN_READ = "    __syncwarp();\n    if (lane == 0) ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));\n"
GENERAL_STORED = "          ptx::cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();\n"
PINGPONG_STORED = "          if (own_lane == 0) cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();\n"

# The name: the kernel, and what is replaced in which file. Each old text must occur there exactly once.
MUTANTS = {
    # Nothing is wrong with these: the machinery itself.
    "control": (V11, []),

    # The pipeline of loads.
    "producer_starts_at_wrong_parity": (V11, [
        (PIPELINE, "parity = state.phase ^ 1;", "parity = state.phase;")]),
    "consumer_starts_at_wrong_parity": (V11, [
        (PIPELINE, "full(state.stage), state.phase,", "full(state.stage), state.phase ^ 1,")]),
    "parity_never_flips": (V11, [(PIPELINE_STATE, "      phase ^= 1;\n", "")]),
    "producer_does_not_wait": (V11, [(PIPELINE, PRODUCER_WAIT, "")]),
    "consumer_does_not_wait": (V11, [(V11, "        smem.pipeline.consumer_wait(state);\n", "")]),
    "nothing_announces_the_bytes": (V11, [
        (PIPELINE, EXPECT, "ptx::mbarrier_arrive(full(state.stage));")]),
    "16_bytes_too_few": (V11, [(PIPELINE, EXPECT, EXPECT.replace("bytes)", "bytes - 16)"))]),
    "16_bytes_too_many": (V11, [(PIPELINE, EXPECT, EXPECT.replace("bytes)", "bytes + 16)"))]),
    "bytes_of_b_only": (V11, [(V11, STAGE_BYTES, STAGE_BYTES.replace("(BLOCK_M + BLOCK_N)", "BLOCK_N"))]),
    "bytes_of_whole_b_from_each_cta": (V11, [
        (V11, STAGE_BYTES, STAGE_BYTES.replace("BLOCK_N)", "2 * BLOCK_N)"))]),
    "one_arrival_too_many_expected": (V11, [(PIPELINE, EMPTY_COUNT, "kNumConsumers * cluster_size + 1;")]),
    "one_arrival_too_few_expected": (V11, [(PIPELINE, EMPTY_COUNT, "kNumConsumers * cluster_size - 1;")]),
    "arrivals_of_own_cta_only_expected": (V11, [(PIPELINE, EMPTY_COUNT, "kNumConsumers;")]),
    "one_consumer_releases": (V11, [
        (V11, RELEASE_PREVIOUS, RELEASE_PREVIOUS.replace("k_block != 0", "k_block != 0 && consumer == 0"))]),
    "all_threads_release": (V11, [
        (PIPELINE, "    if (!is_alone && thread < cluster_size) {", "    if (!is_alone) {"),
        (PIPELINE, "static_cast<cuda::std::uint32_t>(thread)", "static_cast<cuda::std::uint32_t>(thread % 2)")]),
    "release_reaches_own_cta_only": (V11, [
        (PIPELINE, "ptx::mapa(empty(state.stage), static_cast<cuda::std::uint32_t>(thread))",
         "ptx::mapa(empty(state.stage), ptx::cluster_ctarank())")]),
    "release_of_the_current_stage": (V11, [
        (V11, RELEASE_PREVIOUS, "smem.pipeline.consumer_release(state, thread % kWarpgroupThreads);"),
        (V11, LAST_WAIT + "      smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);\n", LAST_WAIT)]),
    "release_before_the_wait": (V11, [
        (V11, "        wgmma_wait_group<1>();\n        " + RELEASE_PREVIOUS,
         "        " + RELEASE_PREVIOUS + "\n        wgmma_wait_group<1>();")]),
    "v04_release_before_the_wait": (V04, [
        (V04, "      wgmma_wait_group<0>();\n      wgmma_fence_operand(accum);\n"
              "      (void)smem.empty_barrier[stage].arrive();\n",
         "      (void)smem.empty_barrier[stage].arrive();\n"
         "      wgmma_wait_group<0>();\n      wgmma_fence_operand(accum);\n")]),
    "v06_release_before_the_wait": (V06, [(V06, WAIT_AND_RELEASE, RELEASE_AND_WAIT)]),
    "v07_release_before_the_wait": (V07, [(V07, WAIT_AND_RELEASE, RELEASE_AND_WAIT)]),
    "consumer_loop_one_block_short": (V11, [
        (V11, CONSUMER_LOOP, CONSUMER_LOOP.replace("num_k_blocks;", "num_k_blocks - 1;"))]),
    "producer_loop_one_block_short": (V11, [
        (V11, PRODUCER_LOOP, PRODUCER_LOOP.replace("num_k_blocks;", "num_k_blocks - 1;"))]),
    "producer_loop_one_block_long": (V11, [
        (V11, PRODUCER_LOOP, PRODUCER_LOOP.replace("num_k_blocks;", "num_k_blocks + 1;"))]),

    # Multicast and TMA loads.
    "multicast_mask_off_by_one": (V11, [(V11, "kMulticastMask = (1 << kClusterM) - 1;",
                                         "kMulticastMask = 1 << kClusterM;")]),
    "multicast_to_one_cta": (V11, [(V11, "kMulticastMask = (1 << kClusterM) - 1;", "kMulticastMask = 1;")]),
    "multicast_to_the_same_half": (V11, [
        (V11, "const int first_row = cta_rank * Config::kMulticastN;", "const int first_row = 0;")]),
    "load_coordinates_swapped": (V11, [
        (V11, "{k, tile_m * Config::BLOCK_M}", "{tile_m * Config::BLOCK_M, k}")]),
    "load_of_the_peers_rows": (V11, [
        (V11, "{k, tile_m * Config::BLOCK_M}", "{k, (tile_m ^ 1) * Config::BLOCK_M}")]),
    "load_to_a_misaligned_address": (V11, [
        (V11, "smem_addr(smem.a[state.stage]), &tensor_map_a", "smem_addr(smem.a[state.stage] + 8), &tensor_map_a")]),
    "tensor_map_with_another_swizzle": (V11, [
        (V11, "args.lda, Config::BLOCK_M, Config::BLOCK_K, &tensor_map_a)",
         "args.lda, Config::BLOCK_M, Config::BLOCK_K / 2, &tensor_map_a, Swizzle::B64)"),
        (V11, STAGE_BYTES, STAGE_BYTES.replace("(BLOCK_M + BLOCK_N)", "(BLOCK_M / 2 + BLOCK_N)"))]),

    # Set-up, registers and exit.
    "v02_no_mbarrier_init_fence": (V02, [(V02, INIT_FENCE, "")]),
    "v06_no_mbarrier_init_fence": (V06, [(V06, INIT_FENCE, "")]),
    "no_mbarrier_init_fence": (V11, [(V11, INIT_FENCE, "")]),
    "v06_no_barrier_after_init": (V06, [(V06, "  __syncthreads();\n", "")]),
    "no_barrier_after_init": (V11, [(V11, ENTRY_BARRIER, "")]),
    "barrier_of_the_cta_after_init": (V11, [(V11, ENTRY_BARRIER, "  __syncthreads();\n")]),
    "v07_no_drain": (V07, [(V07, DRAIN, "")]),
    "no_drain": (V11, [(V11, DRAIN, "")]),
    "drain_without_the_wait": (V11, [
        (V11, DRAIN, DRAIN.replace("  barrier_cluster_wait();\n", ""))]),
    "consumers_want_too_many_registers": (V11, [
        (V11, REGISTERS_FIT, ""), (V11, "kConsumerRegisters = 232;", "kConsumerRegisters = 240;")]),
    "producer_keeps_its_registers": (V11, [
        (V11, "    setmaxnreg_dec<Config::kProducerRegisters>();\n", "")]),
    "one_warp_keeps_its_registers": (V11, [
        (V11, "    setmaxnreg_dec<Config::kProducerRegisters>();\n",
         "    if (thread < Config::kNumThreads - kWarpThreads) setmaxnreg_dec<Config::kProducerRegisters>();\n")]),
    "too_little_shared_memory": (V11, [
        (V11, "sizeof(SharedStorage), stream", "sizeof(SharedStorage) - 1024, stream")]),

    # wgmma.
    "v04_no_wgmma_fence": (V04, [(V04, "      wgmma_fence();\n", "")]),
    "no_wgmma_fence": (V11, [(V11, "        wgmma_fence();\n", "")]),
    "no_commit_of_wgmmas": (V11, [(V11, "        wgmma_commit_group();\n", "")]),
    "v04_wait_for_one_group_too_few": (V04, [(V04, "wgmma_wait_group<0>();", "wgmma_wait_group<1>();")]),
    "wait_for_one_group_too_few": (V11, [(V11, "wgmma_wait_group<1>();", "wgmma_wait_group<2>();")]),
    "last_wait_for_one_group_too_few": (V11, [(V11, "wgmma_wait_group<0>();", "wgmma_wait_group<1>();")]),
    "accumulators_read_too_early": (V11, [
        (V11, LAST_WAIT + "      smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);\n", ""),
        (V11, "    // Shared memory must outlive", "    wgmma_wait_group<0>();\n    // Shared memory must outlive")]),
    "accumulators_cleared_in_flight": (V11, [
        (V11, LAST_WAIT, "      for (float& value : accum) value = 0;\n" + LAST_WAIT)]),
    "descriptor_strides_swapped": (V11, [
        (SMEM_DESCRIPTOR, "kIgnoredLeadingByteOffset, kEightRowsBytes, Swizzle",
         "kEightRowsBytes, kIgnoredLeadingByteOffset, Swizzle")]),
    "descriptor_stride_of_half_a_row": (V11, [
        (SMEM_DESCRIPTOR, K_MAJOR_STRIDE, K_MAJOR_STRIDE.replace("8 * 128", "8 * 64"))]),
    "descriptor_without_swizzle": (V11, [
        (SMEM_DESCRIPTOR, K_MAJOR_SWIZZLE, K_MAJOR_SWIZZLE.replace("B128", "None"))]),
    "descriptor_with_another_swizzle": (V11, [
        (SMEM_DESCRIPTOR, K_MAJOR_SWIZZLE, K_MAJOR_SWIZZLE.replace("B128", "B64"))]),
    "descriptor_of_the_next_stage": (V11, [
        (V11, "advance_smem_desc(first_desc_b, state.stage *",
         "advance_smem_desc(first_desc_b, (state.stage + 1) % Config::kNumStages *")]),
    "descriptor_never_advances": (V11, [
        (V11, "advance_smem_desc(first_desc_a, state.stage *", "advance_smem_desc(first_desc_a, 0 *")]),
    "descriptor_behind_the_end": (V11, [
        (V11, "advance_smem_desc(first_desc_b, state.stage *", "advance_smem_desc(first_desc_b, 5 *")]),
    "descriptors_differ_within_a_warpgroup": (V11, [
        (V11, "smem.a[0] + consumer * Config::kWgmmaM", "smem.a[0] + thread / 64 % 2 * Config::kWgmmaM")]),
    "both_consumers_take_the_same_rows": (V11, [
        (V11, "smem.a[0] + consumer * Config::kWgmmaM", "smem.a[0] + 0 * Config::kWgmmaM")]),
    "first_wgmma_accumulates": (V11, [(V11, "k_block != 0 || k != 0);", "true);")]),
    "every_block_starts_anew": (V11, [(V11, "k_block != 0 || k != 0);", "k != 0);")]),

    # The epilogue.
    "no_proxy_fence": (V11, [(V11, "          fence_proxy_async_shared_cta();\n", "")]),
    "v09_no_proxy_fence": (V09, [(V09, "          fence_proxy_async_shared_cta();\n", "")]),
    "proxy_fence_before_the_stores": (V11, [
        (V11, STAGE + FENCE_AND_SYNC,
         "          fence_proxy_async_shared_cta();\n" + STAGE + "          __syncwarp();\n")]),
    "proxy_fence_of_one_lane": (V11, [
        (V11, FENCE_AND_SYNC, "          __syncwarp();\n          if (lane == 0) fence_proxy_async_shared_cta();\n")]),
    "staging_not_waited_for": (V11, [(V11, WAIT_FOR_STAGING, "")]),
    "staging_waits_for_one_group_too_few": (V11, [
        (V11, WAIT_FOR_STAGING, WAIT_FOR_STAGING.replace("kStoreBuffers - 1", "kStoreBuffers"))]),
    "no_syncwarp_before_staging": (V11, [
        (V11, WAIT_FOR_STAGING + "          __syncwarp();\n", WAIT_FOR_STAGING)]),
    "v09_no_syncwarp_before_staging": (V09, [
        (V09, WAIT_FOR_STAGING + "          __syncwarp();\n", WAIT_FOR_STAGING)]),
    "no_syncwarp_after_staging": (V11, [
        (V11, FENCE_AND_SYNC, "          fence_proxy_async_shared_cta();\n")]),
    "v09_no_syncwarp_after_staging": (V09, [
        (V09, FENCE_AND_SYNC, "          fence_proxy_async_shared_cta();\n")]),
    "syncwarp_of_one_lane": (V11, [
        (V11, FENCE_AND_SYNC,
         "          fence_proxy_async_shared_cta();\n          if (lane == 0) __syncwarp();\n")]),
    "stores_never_committed": (V11, [(V11, "            cp_async_bulk_commit_group();\n", "")]),
    "exit_before_the_stores": (V11, [
        (V11, "    if (lane == 0) cp_async_bulk_wait_group_read<0>();\n", "")]),
    "another_lane_waits_for_the_stores": (V11, [
        (V11, "    if (lane == 0) cp_async_bulk_wait_group_read<0>();\n",
         "    if (lane == 1) cp_async_bulk_wait_group_read<0>();\n")]),
    "staging_not_swizzled": (V11, [
        (EPILOGUE, "(i / 4 + first_chunk) ^ (row * kRowBytes / 128 % (kRowBytes / 16));", "i / 4 + first_chunk;")]),
    "staging_misaligned": (V11, [
        (V11, "  __nv_bfloat16 d[Config::kNumConsumerWarps]",
         "  __nv_bfloat16 gap[64];\n  __nv_bfloat16 d[Config::kNumConsumerWarps]")]),
    "store_at_a_negative_row": (V11, [
        (V11, STORE_COORDS, STORE_COORDS.replace("warp * Config::kStoreM", "warp * Config::kStoreM - 1"))]),
    "store_one_row_too_low": (V11, [
        (V11, STORE_COORDS, STORE_COORDS.replace("warp * Config::kStoreM", "warp * Config::kStoreM + 1"))]),
    "store_behind_the_end": (V11, [
        (V11, STORE_COORDS, STORE_COORDS.replace("warp * Config::kStoreM", "warp * Config::kStoreM + shape.m"))]),
    "store_coordinates_swapped": (V11, [
        (V11, STORE_COORDS,
         "{tile_m * Config::BLOCK_M + warp * Config::kStoreM, cluster_tile.n * Config::BLOCK_N + n}")]),
    "store_to_more_rows_than_d_has": (V11, [
        (V11, '"D", args.d, m, n,', '"D", args.d, m + 128, n,')]),
    "store_over_the_last_chunk": (V11, [
        (V11, "if (shape.n % Config::kTmaChunkElems != 0 &&", "if (false &&")]),
    "v04_store_below_the_last_row": (V04, [
        (EPILOGUE, "    if (d_row >= shape.m) continue;\n", "")]),
    "v04_store_behind_the_last_column": (V04, [
        (EPILOGUE, "if (d_col + 1 < shape.n) {", "if (d_col < shape.n) {")]),

    # The queue of tiles.
    "queue_reader_does_not_wait": (V11, [(TILE_QUEUE, READER_WAIT, "")]),
    "queue_writer_does_not_wait": (V11, [(TILE_QUEUE, SCHEDULER_WAIT, "")]),
    "queue_of_one_reader_too_few": (V11, [
        (V11, "TileQueue<2, kNumConsumerWarps + 1>", "TileQueue<2, kNumConsumerWarps>")]),
    "queue_of_one_reader_too_many": (V11, [
        (V11, "TileQueue<2, kNumConsumerWarps + 1>", "TileQueue<2, kNumConsumerWarps + 2>")]),
    "queue_full_before_it_is": (V11, [(TILE_QUEUE, SEND, SEND_TOO_EARLY)]),
    "queue_released_before_it_is_read": (V11, [(TILE_QUEUE, RECEIVE, RECEIVE_TOO_LATE)]),
    "tile_of_the_first_lane_only": (V11, [
        (TILE_QUEUE, "__shfl_sync(kWholeWarp, tile.m, 0)", "tile.m")]),
    "v12_tile_taken_while_lanes_wait": (V12, [
        (TILE_QUEUE, "    await_tile(state);\n    __syncwarp();", "    await_tile(state);\n")]),

    # Tiles of two widths.
    "v14_bytes_of_wide_tiles": (V14, [
        (V14, "(Config::BLOCK_M + block_n) * Config::kLineBytes", "Config::kStageBytes")]),
    "v14_narrow_tiles_over_wide_ones": (V14, [(V14, "block_n == Config::WIDE_N ? 0 : first_narrow", "0 * first_narrow")]),

    # Blocks of accumulators that are stored one under the other's products.
    "v15_upper_block_stored_in_flight": (V15, [
        (V15, "  wgmma_wait_group<1>();\n  wgmma_fence_operand(upper);\n", "  wgmma_fence_operand(upper);\n")]),
    "v15_lower_block_stored_in_flight": (V15, [(V15, "      wgmma_wait_group<0>();\n", "")]),
    "v15_stage_released_under_the_lower_block": (V15, [
        (V15, "      wgmma_wait_group<0>();\n      pipeline.consumer_release(state, self.thread);\n",
         "      pipeline.consumer_release(state, self.thread);\n      wgmma_wait_group<0>();\n")]),
    "v15_pending_block_forgotten": (V15, [
        (V15, "  if constexpr (kStoresUnderFirstBlock) self.store_pending(accum[1], pending);\n", "")]),
    "v15_no_syncwarp_before_storing_by_threads": (V15, [
        (V15, "fence_proxy_async_shared_cta();\n    __syncwarp();\n", "fence_proxy_async_shared_cta();\n")]),
    "v15_last_chunk_stored_by_tma": (V15, [
        (V15, "shape.n % Config::kTmaChunkElems == 0 || column <=", "true || column <=")]),

    # A producer that is a warp.
    "v16_every_lane_loads": (V16, [(V16, "if (is_leader) {", "if (is_leader || true) {")]),

    # Clusters that keep pace.
    "v17_pace_control": (V17, [ALWAYS_PACE]),
    "v17_pace_waits_for_ever": (V17, [ALWAYS_PACE, PACE_NEVER_GIVES_UP, PACE_ASKS_TOO_MUCH]),

    # Tiles that are stored through a stage.
    "v18_stage_not_stored_yet": (V18, [(V18, WIDE_STORED, "")]),
    "v18_stage_stored_by_one_warp": (V18, [(V18, WIDE_ALL_STORED, "")]),
    "v18_stored_under_its_last_products": (V18, [(V18, "      wgmma_wait_group<0>();\n", "")]),
    "v18_stored_through_rows_in_use": (V18, [
        (V18, "stage, piece % Config::kStoreBuffers, row", "stage, (piece + 1) % Config::kStoreBuffers, row")]),
    "v18_stage_kept_where_threads_store": (V18, [
        (V18, "  self.release_stored(pending);\n  pending.block_n = 0;", "  pending.block_n = 0;")]),
    "v18_no_fence_where_threads_store": (V18, [
        (V18, "    fence_proxy_async_shared_cta();  //", "    if (by_tma) fence_proxy_async_shared_cta();  //")]),
    "v18_stage_released_before_threads_store": (V18, [
        (V18, "  if (by_tma) return;\n", "  if (by_tma) return;\n  self.release_stored(pending);\n"),
        (V18, "  self.release_stored(pending);\n  pending.block_n = 0;", "  pending.block_n = 0;")]),

    # The ampere ladder: copies, their groups, and the barriers around them.
    "ampere_control": (AMPERE_V6, []),
    "ampere_v2_no_barrier": (AMPERE_V2, [(AMPERE_V2, WAIT_AND_SYNC, "    ptx::cp_async_wait_group<0>();\n")]),
    "ampere_v2_no_wait": (AMPERE_V2, [(AMPERE_V2, WAIT_AND_SYNC, "    __syncthreads();\n")]),
    "ampere_v2_wait_after_the_barrier": (AMPERE_V2, [
        (AMPERE_V2, WAIT_AND_SYNC, "    __syncthreads();\n    ptx::cp_async_wait_group<0>();\n")]),
    "ampere_v2_no_commit": (AMPERE_V2, [(AMPERE_V2, COMMIT, "")]),
    "ampere_v2_loads_before_the_barrier": (AMPERE_V2, [
        (AMPERE_V2, WAIT_AND_SYNC, LOAD_NEXT + "    ptx::cp_async_wait_all();\n    __syncthreads();\n"),
        (AMPERE_V2, LOAD_NEXT + "\n", "\n")]),
    "ampere_v2_k_tail_not_filled_with_zeros": (AMPERE_V2, [
        (AMPERE_V2, "row + tile_row < rows && column + tile_column < columns;", "row + tile_row < rows;")]),
    "ampere_v2_no_syncwarp_after_staging": (AMPERE_V2, [
        (AMPERE_V2, "wmma::mem_row_major);\n      __syncwarp();\n", "wmma::mem_row_major);\n")]),
    "ampere_v3_halves_of_b_swapped": (AMPERE_V3, [
        (AMPERE_V3, PAIR_OF_B, "fragments.b[j + e / 2][1 - e % 2] = matrices[e];")]),
    "ampere_v4_swizzle_on_one_side": (AMPERE_V4, [
        (AMPERE_V4, LOAD_OF_A, LOAD_OF_A.replace("swizzled(row, column)", "row * Config::BLOCK_K + column"))]),
    "ampere_v4_rows_of_ldmatrix_misaligned": (AMPERE_V4, [
        (AMPERE_V4, LOAD_OF_A, LOAD_OF_A.replace("swizzled(row, column)", "swizzled(row, column) + 4"))]),
    "ampere_v5_waits_for_one_group_too_few": (AMPERE_V5, [
        (AMPERE_V5, WAIT_FOR_RING, WAIT_FOR_RING.replace("kNumStages - 2", "kNumStages - 1"))]),
    "ampere_v5_no_barrier": (AMPERE_V5, [
        (AMPERE_V5, WAIT_FOR_RING, WAIT_FOR_RING.replace("    __syncthreads();\n", ""))]),
    "ampere_v5_no_commit": (AMPERE_V5, [(AMPERE_V5, COMMIT, "")]),
    "ampere_v5_no_empty_groups_at_the_end": (AMPERE_V5, [
        (AMPERE_V5, LOAD_AHEAD, "    if (k_block + Config::kNumStages - 1 < num_k_blocks)\n  " + LOAD_AHEAD)]),
    "ampere_v5_loads_over_the_stage_that_is_read": (AMPERE_V5, [
        (AMPERE_V5, LOAD_AHEAD, LOAD_AHEAD.replace("kNumStages - 1", "kNumStages"))]),
    "ampere_v5_exit_before_the_copies": (AMPERE_V5, [(AMPERE_V5, "  ptx::cp_async_wait_all();\n", "")]),
    "ampere_v6_waits_for_one_group_too_few": (AMPERE_V6, [
        (V6_GENERAL, WAIT_FOR_RING, WAIT_FOR_RING.replace("kNumStages - 2", "kNumStages - 1"))]),
    "ampere_v6_no_barrier": (AMPERE_V6, [
        (V6_GENERAL, WAIT_FOR_RING, WAIT_FOR_RING.replace("    __syncthreads();\n", ""))]),
    "ampere_v6_no_barrier_before_staging": (AMPERE_V6, [
        (V6_GENERAL, WAIT_FOR_LAST, "  ptx::cp_async_wait_all();\n")]),
    "ampere_v6_staging_before_the_last_copies": (AMPERE_V6, [(V6_GENERAL, WAIT_FOR_LAST, "  __syncthreads();\n")]),
    "ampere_v6_k_tail_not_filled_with_zeros": (AMPERE_V6, [
        (V6_GENERAL, "left < Config::kCopyElems ? left : Config::kCopyElems", "Config::kCopyElems")]),
    "ampere_v6_last_k_block_not_first": (AMPERE_V6, [
        (V6_GENERAL, "(num_k_blocks - 1) * Config::BLOCK_K;", "0 * Config::BLOCK_K;")]),
    "ampere_v6_loads_below_the_last_row": (AMPERE_V6, [(V6_GENERAL, INSIDE_ROW, "const int inside = tile_row;")]),
    "ampere_v6_another_stage": (AMPERE_V6, [
        (V6_GENERAL, "        read_stage = next(read_stage);\n", "")]),
    "ampere_v6_swizzle_of_wider_rows": (AMPERE_V6, [
        (V6_GENERAL, "smem.b[0] + swizzled<Config::BLOCK_K>", "smem.b[0] + swizzled<Config::BLOCK_K * 2>")]),

    # Its epilogue: alpha, beta and the edges.
    "ampere_v6_stores_below_the_last_row": (AMPERE_V6, [
        (MMA_EPILOGUE, "const int valid = row < shape.m ?", "const int valid = row < shape.m + 1 ?")]),
    "ampere_v6_stores_behind_the_last_column": (AMPERE_V6, [
        (MMA_EPILOGUE, "if (2 * i + 1 < valid)", "if (2 * i < valid)")]),
    "ampere_v6_vectors_whatever_the_address": (AMPERE_V6, [
        (MMA_EPILOGUE, "return reinterpret_cast<cuda::std::uintptr_t>(matrix) % 16 == 0 && ",
         "return matrix != nullptr && ")]),
    "ampere_v6_vectors_whatever_the_pitch": (AMPERE_V6, [
        (MMA_EPILOGUE, "% 16 == 0 && leading_dimension % kVectorElems == 0;", "% 16 == 0 && leading_dimension > 0;")]),
    "ampere_v6_reads_c_where_beta_is_0": (AMPERE_V6, [
        (MMA_EPILOGUE, "if (output.beta != 0) {", "if (output.c != nullptr) {")]),
    "ampere_v6_c_with_the_pitch_of_d": (AMPERE_V6, [(MMA_EPILOGUE, "row * output.ldc", "row * output.ldd")]),
    "ampere_v6_multiplies_nan_by_alpha_0": (AMPERE_V6, [(V6_GENERAL, V6_COPIES_NOTHING, "if (shape.k == 0) {")]),
    "ampere_v6_alpha_for_c_too": (AMPERE_V6, [
        (MMA_EPILOGUE, "add_chunk(values, output.beta,", "add_chunk(values, output.alpha * output.beta,")]),

    # The simt ladder.
    "simt_control": (SIMT_V8, []),
    "simt_v3_reads_before_the_tiles_are_there": (SIMT_V3, [
        (SIMT_V3, "    __syncthreads();\n\n#pragma unroll", "#pragma unroll")]),
    "simt_v3_replaces_tiles_that_are_read": (SIMT_V3, [(SIMT_V3, SIMT_TILES_READ, "")]),
    "simt_v7_replaces_tiles_that_are_read": (SIMT_V7, [(SIMT_V7, SIMT_TILES_READ, "")]),
    "simt_v8_no_barrier": (SIMT_V8, [
        (SIMT_V8, SIMT_SYNC, "        if (k_block + 1 < num_k_blocks) advance(stage);\n")]),
    "simt_v8_waits_for_one_group_too_few": (SIMT_V8, [
        (SIMT_V8, SIMT_WAIT, SIMT_WAIT.replace("kNumStages - 2", "kNumStages - 1"))]),
    "simt_v8_no_commit": (SIMT_V8, [
        (SIMT_V8, "        if (k + 1 == kCopySpan) copy_async_commit_group();\n", "")]),
    "simt_v8_copies_to_the_stage_that_is_read": (SIMT_V8, [
        (SIMT_V8, "Stage<Config>* copy_stage = smem.stages + Config::kNumStages - 1;",
         "Stage<Config>* copy_stage = smem.stages;")]),
    "simt_v8_reads_the_same_stage_again": (SIMT_V8, [
        (SIMT_V8, "        if (k_block + 1 < num_k_blocks) advance(stage);\n", "")]),
    "simt_v8_k_tail_not_filled_with_zeros": (SIMT_V8, [
        (SIMT_V8, "const bool valid = copy_k + k < first_depth;", "const bool valid = true;")]),
    "simt_v8_columns_beyond_the_last": (SIMT_V8, [
        (SIMT_V8, "at_most(first_col + copy_col, gemm.shape.n - kCopyN);", "first_col + copy_col;")]),
    "simt_v1_stores_below_the_last_row": (SIMT_V1, [
        (SIMT_GEMM, STORE_D_GUARD, STORE_D_GUARD.replace("row >= gemm.shape.m", "row > gemm.shape.m"))]),
    "simt_v1_reads_c_where_beta_is_0": (SIMT_V1, [
        (SIMT_GEMM, "if (gemm.beta != 0) result +=", "if (gemm.c != nullptr) result +=")]),
    "simt_v1_multiplies_nan_by_alpha_0": (SIMT_V1, [
        (SIMT_GEMM, "args.alpha != 0 && k != 0", "k != 0")]),
    "simt_v6_vectors_that_reach_behind_the_row": (SIMT_V6, [
        (SIMT_GEMM, SIMT_VECTORS, "leading_dimension % kVectorElems == 0 && row_elems > 0;")]),
    "simt_v6_vectors_whatever_the_pitch": (SIMT_V6, [
        (SIMT_GEMM, SIMT_VECTORS, "row_elems % kVectorElems == 0;")]),
    "simt_v6_vectors_whatever_the_address": (SIMT_V6, [
        (SIMT_GEMM, "std::bit_cast<std::uintptr_t>(matrix) % (kVectorElems * sizeof(float)) == 0 &&",
         "matrix != nullptr &&")]),

    # The library: what its kernel has that the ladder's has not, and the pipeline again, which is written out anew.
    "library_pace_control": (WIDE, [ALWAYS_PACE]),

    # Launches that overlap.
    "library_128x128_no_wait_for_the_launch_ahead": (LIBRARY, [(COOPERATIVE, "  griddepcontrol_wait();\n", "")]),
    "library_reduce_partials_without_its_wait": (REDUCE_PARTIALS, [
        (REDUCE_PARTIALS, "  ptx::griddepcontrol_wait();\n", "")]),
    "library_reduce_partials_waits_in_its_first_cta": (REDUCE_PARTIALS, [
        (REDUCE_PARTIALS, "  ptx::griddepcontrol_wait();\n", "  if (blockIdx.x == 0) ptx::griddepcontrol_wait();\n")]),
    "library_128x128_no_mbarrier_init_fence": (LIBRARY, [(COOPERATIVE, INIT_FENCE, "")]),
    "library_64x64_release_before_the_wait": (LIBRARY, [
        (MAINLOOP, "    ptx::wgmma_wait_group<1>();\n" + LIBRARY_RELEASE,
         LIBRARY_RELEASE + "    ptx::wgmma_wait_group<1>();\n")]),
    "library_64x64_slices_of_the_same_rows": (LIBRARY, [
        (COOPERATIVE, "is_k_major ? k : k + first;", "k;")]),
    "library_64x64_slices_to_the_same_place": (LIBRARY, [
        (COOPERATIVE, LIBRARY_SLICE, LIBRARY_SLICE.replace("first,", "is_k_major ? first : 0,"))]),
    "library_64x64_multicast_to_another_row": (LIBRARY, [
        (COOPERATIVE, "shared_loads.row << rank_m", "shared_loads.row << (rank_m ^ 1)")]),
    "library_64x64_releases_its_own_stage_alone": (LIBRARY, [
        (MAINLOOP, "pipeline.consumer_release(state, thread, cluster_size);", "pipeline.consumer_release(state, thread, 1);")]),
    "library_64x64_no_proxy_fence": (LIBRARY, [
        (COOPERATIVE, LIBRARY_FENCE, LIBRARY_FENCE.replace("  ptx::fence_proxy_async_shared_cta();\n", ""))]),
    "library_64x64_staging_not_waited_for": (LIBRARY, [
        (COOPERATIVE, LIBRARY_STAGING, LIBRARY_STAGING.replace("kStoreBuffers - 1", "kStoreBuffers"))]),
    "library_64x64_exit_before_the_stores": (LIBRARY, [(COOPERATIVE, "    queue.await_all();\n  }\n}", "  }\n}")]),
    "library_128x128_store_over_the_last_chunk": (LIBRARY, [
        (STORE, BY_ELEMENTS, "const bool by_elements = output.tma_columns == 0;")]),
    "library_64x64_no_drain": (LIBRARY, [(COOPERATIVE, LIBRARY_DRAIN, "")]),
    "library_64x64_drain_from_the_last_stage": (LIBRARY, [(PIPELINE, LIBRARY_DRAIN_FROM, "")]),
    "library_128x128_producer_lanes_part": (LIBRARY, [
        (PIPELINE, "    producer_wait(state);\n    __syncwarp();", "    producer_wait(state);")]),
    "library_128x128_sums_read_before_they_are_there": (LIBRARY, [
        (COOPERATIVE, "    if (split_ > 1) smem_.exchange.await_sums();\n", "")]),
    "library_128x128_sums_over_stages_in_use": (LIBRARY, [(SPLIT_K_EXCHANGE, SUMS_WAIT_FOR_PEERS, "")]),
    "library_128x128_sums_of_one_consumer_too_early": (LIBRARY, [
        (SPLIT_K_EXCHANGE, "static_cast<cuda::std::uint32_t>((split - 1) * num_consumers)",
         "static_cast<cuda::std::uint32_t>(split - 1) + 0u * num_consumers")]),
    "library_128x128_sums_without_the_cluster_barrier": (LIBRARY, [
        (SPLIT_K_EXCHANGE, "    ptx::barrier_cluster_wait();\n", "")]),
    "library_128x128_sums_of_the_others_alone": (LIBRARY, [(COOPERATIVE, "{ sums[e] += sum; }", "{ sums[e] += 0 * sum; }")]),
    "library_128x128_sums_to_the_same_place": (LIBRARY, [(SPLIT_K_EXCHANGE, SUMS_SLOT, "0 * source;")]),
    "library_128x128_sums_tell_the_sender": (LIBRARY, [
        (SPLIT_K_EXCHANGE, SUMS_BARRIER, SUMS_BARRIER.replace("rank)", "ptx::cluster_ctarank())"))]),
    "library_128x128_expects_too_few_sums": (LIBRARY, [
        (SPLIT_K_EXCHANGE, "own_pieces * (split - 1) * piece_bytes", "own_pieces * (split - 2) * piece_bytes")]),
    "library_128x128_expects_too_many_sums": (LIBRARY, [
        (SPLIT_K_EXCHANGE, "own_pieces * (split - 1) * piece_bytes", "own_pieces * split * piece_bytes")]),
    "library_128x128_split_forgets_the_longer_parts": (LIBRARY, [
        (COOPERATIVE, "(split_rank < longer_parts ? split_rank : longer_parts)",
         "0 * (split_rank < longer_parts ? split_rank : longer_parts)")]),
    "library_64x64_last_tile_ends_early": (LIBRARY, [(COOPERATIVE, "m0 = params.last_m0;", "m0 = params.last_m0 - 1;")]),
    "library_64x96_last_piece_beyond_the_tile": (LIBRARY, [
        (COOPERATIVE, "corner.column + column}", "corner.column + piece * kStagingN}")]),
    "library_swapped_staging_not_waited_for": (LIBRARY, [(COOPERATIVE, "read<kBuffers - 1>();", "read<kBuffers>();")]),
    "library_swapped_staged_before_it_is_read": (LIBRARY, [
        (COOPERATIVE, "read<kBuffers - 1>();\n    ptx::barrier_sync(bar, kWarpgroupThreads);\n", "read<kBuffers - 1>();\n")]),
    "library_swapped_stored_before_it_is_staged": (LIBRARY, [
        (COOPERATIVE, "    ptx::barrier_sync(bar, kWarpgroupThreads);\n    if (thread == 0) {", "    if (thread == 0) {")]),
    "library_swapped_no_proxy_fence": (LIBRARY, [
        (COOPERATIVE, "    ptx::fence_proxy_async_shared_cta();\n    ptx::barrier_sync", "    ptx::barrier_sync")]),
    "library_swapped_last_piece_of_other_rows": (LIBRARY, [
        (COOPERATIVE, "accum[block] + row / 2", "accum[block] + (piece * kSwappedRows / 2) % (Config::BLOCK_M / 2)")]),
    "library_64x96_last_piece_of_other_columns": (LIBRARY, [
        (COOPERATIVE, "accum[block][column / 2 + e]",
         "accum[block][(piece * kStagingN / 2 + e) % (Config::BLOCK_N / 2)]")]),
    "library_128x128_workspace_split_of_the_same_k": (LIBRARY, [
        (COOPERATIVE, "first_of_cluster + first_k_block", "0 * first_of_cluster + first_k_block")]),
    "library_128x128_workspace_split_of_other_batches": (LIBRARY, [
        (COOPERATIVE, "tile.batch / params.workspace_split_k;", "tile.batch;")]),
    "library_128x128_expects_whole_boxes": (LIBRARY, [
        (COOPERATIVE, "producer_announce(state, (params.a_lines + params.b_lines) * kLineBytes)",
         "producer_announce(state)")]),
    "library_128x128_c_before_it_has_come": (LIBRARY, [(LOAD_C, '        watched_wait(bar(buffer), phases_ >> buffer & 1, "reader of C", buffer);\n', "")]),
    "library_128x128_c_of_the_phase_before": (LIBRARY, [(LOAD_C, "        phases_ ^= 1U << buffer;\n", "")]),
    "library_128x128_c_over_a_buffer_in_use": (LIBRARY, [(COOPERATIVE, "    queue.await_all();\n    c.begin", "    c.begin")]),
    "library_128x128_c_to_the_buffer_of_this_subtile": (LIBRARY, [(COOPERATIVE, "begin_c(1, corner_of", "begin_c(0, corner_of")]),
    "library_128x128_bias_before_it_has_come": (LIBRARY, [(BIAS_QUEUE, BIAS_HAS_COME, "")]),
    "library_128x128_bias_of_the_tile_before": (LIBRARY, [
        (COOPERATIVE, "lane);\n          bias_state.advance();\n        }\n      }\n    }\n    //",
         "lane);\n        }\n      }\n    }\n    //")]),
    "library_pingpong_out_of_turn": (PINGPONG, [(PINGPONG_GEMM, PINGPONG_TURN, ""), (PINGPONG_GEMM, PINGPONG_HAND_ON, "")]),
    "library_pingpong_hands_on_too_early": (PINGPONG, [
        (PINGPONG_GEMM, PINGPONG_HAND_ON, ""), (PINGPONG_GEMM, PINGPONG_TURN, PINGPONG_TURN + PINGPONG_HAND_ON)]),
    "library_pingpong_keeps_its_turn": (PINGPONG, [(PINGPONG_GEMM, PINGPONG_HAND_ON, "")]),
    "library_pingpong_no_drain": (PINGPONG, [(PINGPONG_GEMM, TWO_WIDTH_DRAIN, "")]),
    "library_cooperative_mixed_n_no_drain": (WIDE, [(WIDE_GEMM, TWO_WIDTH_DRAIN, "")]),
    "library_cooperative_mixed_n_pace_waits_for_ever": (WIDE, [ALWAYS_PACE, PACE_NEVER_GIVES_UP, PACE_ASKS_TOO_MUCH]),
    "library_cooperative_mixed_n_pace_in_later_waves": (WIDE, [
        ALWAYS_PACE, PACE_NEVER_GIVES_UP, (WIDE_GEMM, IN_FULL_WAVES, " && is_leader && cta_rank == 0;\n")]),
    "library_cooperative_mixed_n_atoms_of_a_in_one_place": (WIDE, [
        (MIXED_N, "smem.a[state.stage] + row * kLineBytes", "smem.a[state.stage]")]),
    "library_cooperative_mixed_n_atoms_of_b_in_one_place": (WIDE, [
        (MIXED_N, "smem.b[state.stage] + column * kLineBytes", "smem.b[state.stage]")]),
    "library_cooperative_mixed_n_atoms_of_a_as_if_k_major": (WIDE, [
        (OPERANDS, "kElemBytesA = elem_bytes_along_k(kMajorA)", "kElemBytesA = kElemBytes")]),
    "library_cooperative_mixed_n_atoms_of_b_as_if_k_major": (WIDE, [
        (OPERANDS, "kElemBytesB = elem_bytes_along_k(kMajorB)", "kElemBytesB = kElemBytes")]),
    "library_pingpong_atoms_of_b_as_if_k_major": (PINGPONG, [
        (OPERANDS, "kElemBytesB = elem_bytes_along_k(kMajorB)", "kElemBytesB = kElemBytes")]),
    "library_cooperative_mixed_n_stage_not_stored_yet": (WIDE, [
        (WIDE_GEMM, WIDE_STORED.replace("lane", "lane()"), "")]),
    "library_cooperative_mixed_n_stage_stored_by_one_warp": (WIDE, [(WIDE_GEMM, WIDE_ALL_STORED, "")]),
    "library_cooperative_mixed_n_stored_under_its_last_products": (WIDE, [(WIDE_GEMM, "    wgmma_wait_group<0>();\n", "")]),
    "library_cooperative_mixed_n_upper_block_stored_in_flight": (WIDE, [
        (WIDE_GEMM, WIDE_UPPER_DONE, WIDE_UPPER_DONE.replace("<kEnds>", "<kEnds + 1>"))]),
    "library_cooperative_mixed_n_stage_released_in_use": (WIDE, [
        (WIDE_GEMM, "  wgmma_wait_group<kEnds>();\n  pipeline", "  wgmma_wait_group<kEnds + 1>();\n  pipeline")]),
    "library_cooperative_mixed_n_first_stage_released_in_use": (WIDE, [
        (WIDE_GEMM, WIDE_LOWER_BEGUN, WIDE_LOWER_BEGUN.replace("<1>", "<kEnds>"))]),
    "library_cooperative_mixed_n_piece_over_the_one_before": (WIDE, [
        (WIDE_GEMM, "pending.block_n / Config::kStoreN % Config::kStoreBuffers", "0")]),
    "library_cooperative_mixed_n_stored_through_rows_in_use": (WIDE, [
        (WIDE_GEMM, "stage, piece % Config::kStoreBuffers,", "stage, (piece + 1) % Config::kStoreBuffers,")]),
    "library_general_cooperative_mixed_n_bias_before_it_has_come": (WIDE, [(BIAS_QUEUE, BIAS_HAS_COME, "")]),
    "library_general_cooperative_mixed_n_bias_over_the_last_one": (WIDE, [(BIAS_QUEUE, BIAS_SLOT_IS_FREE, "")]),
    "library_general_cooperative_mixed_n_bias_never_read": (WIDE, [(BIAS_QUEUE, BIAS_HAS_BEEN_READ, "")]),
    "library_general_cooperative_mixed_n_staged_too_early": (WIDE, [
        (WIDE_GEMM, GENERAL_STORED, GENERAL_STORED.replace("- 1>", ">"))]),
    "library_general_cooperative_mixed_n_second_part_staged_too_early": (WIDE, [
        (WIDE_GEMM, "waits_for_all = is_first && part != 0;", "waits_for_all = false;")]),
    "library_general_cooperative_mixed_n_one_buffer_for_all": (WIDE, [
        (WIDE_GEMM, "((is_odd ? buffer : 1) + part)", "(1 + part)")]),
    "library_general_cooperative_mixed_n_groups_not_counted": (WIDE, [
        (STORE, "    ptx::cp_async_bulk_commit_group();\n", "    if (!by_elements) ptx::cp_async_bulk_commit_group();\n")]),
    "library_general_cooperative_mixed_n_staged_without_a_fence": (WIDE, [
        (STORE, "  ptx::fence_proxy_async_shared_cta();\n", "")]),
    "library_general_pingpong_staged_too_early": (PINGPONG, [(PINGPONG_GEMM, PINGPONG_STORED, "")]),
    "library_general_pingpong_c_before_it_has_come": (PINGPONG, [
        (LOAD_C, '  watched_wait(bar, static_cast<cuda::std::uint32_t>(subtile % 2), "reader of C", 0);\n', "")]),
    "library_general_pingpong_c_of_the_phase_before": (PINGPONG, [(LOAD_C, "(subtile % 2)", "(0)")]),
    "library_general_pingpong_bias_of_the_tile_before": (PINGPONG, [
        (PINGPONG_GEMM, "      bias_phase ^= 1;\n", "")]),
    "library_pingpong_skips_nothing": (PINGPONG, [(PINGPONG_GEMM, PINGPONG_SKIP, "      bias_phase")]),
    "library_pingpong_skips_without_the_phase": (PINGPONG, [
        (PINGPONG_GEMM, "past / Config::kNumStages % 2", "past / Config::kNumStages % 1")]),
    "library_pingpong_release_before_the_wait": (PINGPONG, [
        (MAINLOOP, "    ptx::wgmma_wait_group<1>();\n" + LIBRARY_RELEASE,
         LIBRARY_RELEASE + "    ptx::wgmma_wait_group<1>();\n")]),
    "library_small_m_expects_whole_boxes": (SMALL_M, [
        (SMALL_M_GEMM, "Config::kStageBlocks * (params.a_rows + params.columns) * kLineBytes",
         "Config::Pipeline::kStageBytes")]),
    "library_small_m_sums_read_before_they_are_there": (SMALL_M, [
        (SMALL_M_GEMM, "    if (split > 1) smem.exchange.await_sums();\n", "")]),
    "library_small_m_sums_without_the_cluster_barrier": (SMALL_M, [
        (SMALL_M_GEMM, "  if (split > 1) ptx::barrier_cluster_wait();\n", "")]),
    "library_small_m_stores_columns_of_the_next_tile": (SMALL_M, [
        (SMALL_M_GEMM, SKINNY_COLUMNS, "")]),
    "library_small_m_sums_of_the_others_alone": (SMALL_M, [
        (SMALL_M_GEMM, "= {sums[e * 4], sums", "= {0 * sums[e * 4], sums")]),
    "library_small_m_sums_to_the_same_place": (SMALL_M, [(SMALL_M_GEMM, SKINNY_SLOT, "slot * (split - 1) + 0 * source;")]),
    "library_small_m_sums_of_another_piece": (SMALL_M, [
        (SMALL_M_GEMM, "slot = first_slot + (is_behind ? 1 : 0);", "slot = first_slot;")]),
    "library_small_m_stored_before_it_is_staged": (SMALL_M, [
        (SMALL_M_GEMM, SKINNY_STAGED, SKINNY_STAGED.replace("    __syncwarp();\n", ""))]),
    "library_small_m_transposed_too_early": (SMALL_M, [
        (SMALL_M_GEMM, SKINNY_TRANSPOSED, SKINNY_TRANSPOSED.replace("  __syncwarp();\n", ""))]),
    "library_small_m_transposed_over_sums_in_use": (SMALL_M, [
        (SMALL_M_GEMM, "    __syncwarp();  // a lane writes below where other lanes have read\n", "")]),
    "library_small_m_split_forgets_the_longer_parts": (SMALL_M, [
        (SMALL_M_GEMM, "(rank < longer_parts ? rank : longer_parts)", "0 * longer_parts")]),
    "library_small_m_blocks_where_no_box_put_them": (SMALL_M, [
        (SMALL_M_GEMM, "params.loads_whole_stages ? box_lines : wgmma_lines", "wgmma_lines")]),
}


# Mistakes that cannot be chosen at run time: in types, constants and template arguments, and in declarations.
COMPILED_ALONE = {
    "library_pace_control", "v17_pace_control", "v17_pace_waits_for_ever",
    "bytes_of_b_only", "bytes_of_whole_b_from_each_cta", "multicast_mask_off_by_one", "multicast_to_one_cta",
    "tensor_map_with_another_swizzle", "consumers_want_too_many_registers", "queue_of_one_reader_too_few",
    "queue_of_one_reader_too_many", "queue_released_before_it_is_read", "staging_misaligned",
    "descriptor_strides_swapped", "descriptor_stride_of_half_a_row", "descriptor_without_swizzle",
    "descriptor_with_another_swizzle", "library_pingpong_atoms_of_b_as_if_k_major",
    "library_cooperative_mixed_n_pace_waits_for_ever", "library_cooperative_mixed_n_pace_in_later_waves",
    "library_cooperative_mixed_n_atoms_of_a_as_if_k_major", "library_cooperative_mixed_n_atoms_of_b_as_if_k_major",
}


@dataclasses.dataclass
class Program:
    """A program that holds one mutant, or several of one kernel, of which it runs the one that is chosen."""

    name: str
    kernel: str
    unused: list  # the replacements that all of its mutants have
    mutants: list  # names; the first has the number 1
    is_alone: bool

    @property
    def sources(self):
        """The kernel, and the other files that are replaced."""
        replacements = self.unused + [replacement for name in self.mutants for replacement in MUTANTS[name][1]]
        return [self.kernel] + sorted({path for path, _, _ in replacements} - {self.kernel})

    @property
    def runs_once(self):
        """Whether to compile it is more work than to run it. A control runs in many schedules."""
        return self.is_alone and not self.name.endswith("control")


def unused_of(name):
    """What a mutant does not run, and what is compiled in its place."""
    tile = next((tile for prefix, tile in ONLY_TILE.items() if name.startswith(prefix)), [])
    return UNUSED.get(MUTANTS[name][0], []) + tile + (GENERAL if name.startswith(GENERAL_PREFIX) else [])


def program_name(name):
    """The program that holds a mutant, if it is not alone: v11_stmatrix for a ladder's kernel, and library_64x64 or
    library_general_pingpong for one of the library's."""
    kernel = pathlib.PurePath(MUTANTS[name][0]).stem
    if not name.startswith("library_"):
        return kernel
    tile = next((prefix.removesuffix("_") for prefix in ONLY_TILE if name.startswith(prefix)), None)
    return tile or (GENERAL_PREFIX if name.startswith(GENERAL_PREFIX) else "library_") + kernel


def programs():
    """All programs."""
    result = {}
    for name, (kernel, _) in MUTANTS.items():
        is_alone = name in COMPILED_ALONE
        program = Program(name if is_alone else program_name(name), kernel, unused_of(name), [], is_alone)
        result.setdefault(program.name, program).mutants.append(name)
    return list(result.values())


def namespace_of(kernel):
    """v11 for src/ladder/hopper/v11_stmatrix.cu, ampere::v2 for src/ladder/ampere/v2_cp_async.cu, and
    library::pingpong for src/gemm/host/pingpong.cu."""
    path = pathlib.PurePath(kernel)
    if path.parent.name in ("host", "instances", "epilogue"):
        return f"library::{path.stem}"
    version = path.name.split("_")[0]
    return version if path.parent.name == "hopper" else f"{path.parent.name}::{version}"


def position_of(old, text, path, name):
    """Where a text begins that must occur once."""
    if text.count(old) != 1:
        sys.exit(f"mutant {name}: {path} must hold this once, and holds it {text.count(old)} times, so that the table "
                 f"in {__file__} must follow it:\n{old}")
    return text.index(old)


def files_of(root, program):
    """A program's files: what each is made from, and its text."""
    texts = {path: (root / path).read_text(encoding="utf-8") for path in program.sources}
    mistakes = [(number, name, *mistake)
                for number, name in enumerate(program.mutants, 1) for mistake in MUTANTS[name][1]]
    always = [(program.name, *replacement) for replacement in program.unused]
    if program.is_alone:
        always += [mistake[1:] for mistake in mistakes]
    for name, path, old, new in always:
        begin = position_of(old, texts[path], path, name)
        texts[path] = texts[path][:begin] + new + texts[path][begin + len(old):]
    if not program.is_alone:
        edits = {path: [] for path in texts}
        for number, name, path, old, new in mistakes:
            begin = position_of(old, texts[path], path, name)
            edits[path] += run_time_choice.edits_of(texts[path], begin, old, new, number)
        texts = {path: run_time_choice.with_choices(text, edits[path]) for path, text in texts.items()}
        texts[program.kernel] = run_time_choice.PREAMBLE + texts[program.kernel]
    if not namespace_of(program.kernel).startswith("library::"):
        texts[program.kernel] += LAUNCH.format(namespace=namespace_of(program.kernel))
    return texts


def write_text(path, text):
    """Writes a file if its text changes."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write(folder, texts):
    """Writes a mutant's files, and removes those of an earlier table, which would go on shadowing the project's."""
    targets = {folder / ("kernel.cu" if path.endswith(".cu") else path): text for path, text in texts.items()}
    for path in folder.rglob("*"):
        if path.is_file() and path not in targets:
            path.unlink()
    for path, text in targets.items():
        write_text(path, text)


def main():
    if unknown := COMPILED_ALONE - MUTANTS.keys():
        sys.exit(f"COMPILED_ALONE names mutants that there are not: {', '.join(sorted(unknown))}")
    if sys.argv[1:] == ["--list"]:
        for program in programs():
            print(program.name, namespace_of(program.kernel), int(program.runs_once), *program.sources)
        return
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    table = ""
    for program in programs():
        write(output / program.name, files_of(root, program))
        for number, name in enumerate(program.mutants, 1):
            table += f'{{"{name}", "{program.name}", {0 if program.is_alone else number}}},\n'
    write_text(output / "programs.inc", table)


if __name__ == "__main__":
    main()
