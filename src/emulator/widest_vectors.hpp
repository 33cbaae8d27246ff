#pragma once

/// Before a function with a loop over numbers: a CPU with AVX2 then does 8 of them in one instruction. The loader chooses
/// that version where it can run. Results are the same, because AVX2 has no fused multiply-add.
#if defined(__x86_64__)
#define HG_WIDEST_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define HG_WIDEST_VECTORS
#endif
