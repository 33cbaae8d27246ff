/* Helpers for the C and C++ examples: they convert bf16 on the host, check CUDA calls and find a GPU. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exit statuses. CTest and Automake read 77 as a skipped test. */
enum { EXAMPLE_PASSED = 0, EXAMPLE_FAILED = 1, EXAMPLE_SKIPPED = 77 };

/* Ends the program if a call of the CUDA runtime fails. */
#define EXAMPLE_CUDA(call)                                                   \
  do {                                                                       \
    const cudaError_t example_error = (call);                                \
    if (example_error != cudaSuccess) {                                      \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(example_error)); \
      exit(EXAMPLE_FAILED);                                                  \
    }                                                                        \
  } while (0)

/* Ends the program with EXAMPLE_SKIPPED if there is no GPU that the library has code for. */
static inline void example_require_gpu(void) {
  int devices = 0;
  int major = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    printf("skipped: there is no GPU (%s)\n", cudaGetErrorString(error));
    exit(EXAMPLE_SKIPPED);
  }
  EXAMPLE_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 8) {
    printf("skipped: the GPU is older than compute capability 8.0\n");
    exit(EXAMPLE_SKIPPED);
  }
}

/* Returns a copy of `host` on the GPU, or uninitialised memory if `host` is null. */
static inline void* example_to_gpu(const void* host, size_t bytes) {
  void* device = NULL;
  EXAMPLE_CUDA(cudaMalloc(&device, bytes));
  if (host != NULL) EXAMPLE_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  return device;
}

/* Rounds to the nearest bf16, ties to even. `value` must not be NaN. */
static inline uint16_t example_bf16(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

static inline float example_float(uint16_t bf16) {
  const uint32_t bits = (uint32_t)bf16 << 16;
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Returns an integer from -2 to 2. fp32 adds products of such integers without rounding. */
static inline float example_integer(size_t index) { return (float)(index * 2654435761u % 101 % 5) - 2; }
