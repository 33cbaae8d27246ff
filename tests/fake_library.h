/* A shared object with the library's C interface that remembers what it is asked for, and runs nothing. */
#pragma once

#include "hopper_gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It refuses a longer K. */
#define FAKE_LIBRARY_MAX_K 2048

typedef struct fake_calls {
  int plans_made;
  int plans_destroyed;
  int runs;
  /* Of the latest plan and run. */
  hgemm_descriptor_t descriptor;
  hgemm_options_t options;
  hgemm_operands_t operands;
  cudaStream_t stream;
} fake_calls_t;

HG_API const fake_calls_t* fake_library_calls(void);

#ifdef __cplusplus
}
#endif
