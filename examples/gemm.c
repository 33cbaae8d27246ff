/* Computes D = relu(A·B + bias) in C, with bf16 inputs and an fp32 result. The weights B are [N, K], as
   frameworks store them. */
#include <hopper_gemm/gemm.h>

#include "example.h"

enum { kM = 300, kN = 200, kK = 136 };

static void check(hgemm_status_t status, const char* what) {
  if (status == HGEMM_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, hgemm_status_string(status), hgemm_last_error_message());
  exit(EXAMPLE_FAILED);
}

/* Computes one element of D on the CPU. */
static float expected(const uint16_t* a, const uint16_t* b, const float* bias, int row, int column) {
  float sum = bias[column];
  for (int i = 0; i < kK; ++i) sum += example_float(a[row * kK + i]) * example_float(b[column * kK + i]);
  return sum < 0 ? 0 : sum;
}

int main(void) {
  static uint16_t a[kM * kK];
  static uint16_t b[kN * kK];
  static float bias[kN];
  static float d[kM * kN];
  hgemm_descriptor_t gemm = HGEMM_DESCRIPTOR_INIT;
  hgemm_operands_t operands = HGEMM_OPERANDS_INIT;
  hgemm_plan_t* plan = NULL;
  char config[64];
  int wrong = 0;

  example_require_gpu();
  for (size_t i = 0; i < kM * kK; ++i) a[i] = example_bf16(example_integer(i));
  for (size_t i = 0; i < kN * kK; ++i) b[i] = example_bf16(example_integer(i + 7));
  for (size_t i = 0; i < kN; ++i) bias[i] = example_integer(i + 3);

  gemm.m = kM;
  gemm.n = kN;
  gemm.k = kK;
  gemm.output_type = HGEMM_FP32;
  gemm.b.transposed = 1;
  gemm.bias = HGEMM_BIAS_PER_COLUMN;
  gemm.bias_type = HGEMM_FP32;
  gemm.activation = HGEMM_ACTIVATION_RELU;
  check(hgemm_plan_create(&plan, &gemm, NULL), "hgemm_plan_create");
  (void)hgemm_plan_config(plan, config, sizeof config);

  operands.a = example_to_gpu(a, sizeof a);
  operands.b = example_to_gpu(b, sizeof b);
  operands.bias = example_to_gpu(bias, sizeof bias);
  operands.d = example_to_gpu(NULL, sizeof d);
  check(hgemm_plan_run(plan, &operands, NULL), "hgemm_plan_run");
  EXAMPLE_CUDA(cudaMemcpy(d, operands.d, sizeof d, cudaMemcpyDeviceToHost));

  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      wrong += d[row * kN + column] != expected(a, b, bias, row, column);
    }
  }
  printf("hopper-gemm %s, %s: %d of %d elements are wrong\n", hgemm_version_string(), config, wrong, kM * kN);

  hgemm_plan_destroy(plan);
  EXAMPLE_CUDA(cudaDeviceReset());
  return wrong == 0 ? EXAMPLE_PASSED : EXAMPLE_FAILED;
}
