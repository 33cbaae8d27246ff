/// The C interface of the library: what gemm.hpp has, for C11 and for whatever calls C. There stands what
/// each field and each operand means, and what is allowed.
///
///   hgemm_descriptor_t gemm = HGEMM_DESCRIPTOR_INIT;
///   gemm.m = m, gemm.n = n, gemm.k = k;
///   hgemm_plan_t* plan = NULL;
///   if (hgemm_plan_create(&plan, &gemm, NULL) != HGEMM_OK) fail(hgemm_last_error_message());
///
///   hgemm_operands_t operands = HGEMM_OPERANDS_INIT;
///   operands.a = a, operands.b = b, operands.d = d;
///   if (hgemm_plan_run(plan, &operands, stream) != HGEMM_OK) fail(hgemm_last_error_message());
///   hgemm_plan_destroy(plan);
///
/// Every function takes null pointers, may be called by several threads at a time, and while streams capture. What a plan
/// promises of programmatic dependent launch, captures and CUDA contexts stands in gemm.hpp, too. Structs grow at their
/// end from one version to the next: struct_bytes, which the initialisers set, says which one the caller
/// knows, and what that one lacks is as the initialisers have it.
#pragma once

// NOLINTBEGIN(modernize-*): C

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "hopper_gemm/api.hpp"
#include "hopper_gemm/version.hpp"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hgemm_status {
  HGEMM_OK = 0,
  HGEMM_INVALID_ARGUMENT = 1,  ///< a value that no GEMM can take
  HGEMM_UNSUPPORTED = 2,       ///< a valid GEMM that the library, the GPU or the driver cannot run
  HGEMM_OUT_OF_MEMORY = 3,     ///< the host's included
  HGEMM_CUDA_ERROR = 4,        ///< the CUDA runtime or driver refused a call
  HGEMM_INTERNAL_ERROR = 5     ///< a fault of the library
} hgemm_status_t;

typedef enum hgemm_data_type { HGEMM_BF16 = 0, HGEMM_FP16 = 1, HGEMM_FP32 = 2 } hgemm_data_type_t;

typedef enum hgemm_layout { HGEMM_ROW_MAJOR = 0, HGEMM_COLUMN_MAJOR = 1 } hgemm_layout_t;

typedef enum hgemm_bias {
  HGEMM_BIAS_NONE = 0,
  HGEMM_BIAS_PER_ROW = 1,
  HGEMM_BIAS_PER_COLUMN = 2
} hgemm_bias_t;

typedef enum hgemm_activation {
  HGEMM_ACTIVATION_NONE = 0,
  HGEMM_ACTIVATION_RELU = 1,
  HGEMM_ACTIVATION_GELU = 2,
  HGEMM_ACTIVATION_GELU_TANH = 3,
  HGEMM_ACTIVATION_SILU = 4
} hgemm_activation_t;

/// As a leading dimension or a batch stride: without gaps.
#define HGEMM_PACKED INT64_C(-1)

/// hopper_gemm::MatrixLayout. Part of other structs, and so for ever what it is.
typedef struct hgemm_matrix_layout {
  hgemm_layout_t order;
  int32_t transposed;         ///< 0 or 1
  int64_t leading_dimension;  ///< elements, or HGEMM_PACKED
  int64_t batch_stride;       ///< elements, or HGEMM_PACKED; 0: all batches share one
  int64_t alignment_bytes;
} hgemm_matrix_layout_t;

/// hopper_gemm::GemmDescriptor.
typedef struct hgemm_descriptor {
  size_t struct_bytes;  ///< sizeof(hgemm_descriptor_t)
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch_count;
  hgemm_data_type_t input_type;
  hgemm_data_type_t output_type;
  hgemm_matrix_layout_t a;
  hgemm_matrix_layout_t b;
  hgemm_matrix_layout_t c;
  hgemm_matrix_layout_t d;
  hgemm_bias_t bias;
  hgemm_data_type_t bias_type;
  int64_t bias_batch_stride;
  hgemm_activation_t activation;
  hgemm_matrix_layout_t aux;  ///< where has_aux
  int32_t gated;              ///< 0 or 1
  int32_t has_aux;            ///< 0 or 1
} hgemm_descriptor_t;

/// hopper_gemm::GemmOptions.
typedef struct hgemm_options {
  size_t struct_bytes;  ///< sizeof(hgemm_options_t)
  const char* config;   ///< null is as good as empty
  int32_t programmatic_dependent_launch;
  size_t workspace_limit_bytes;
} hgemm_options_t;

/// hopper_gemm::GemmOperands.
typedef struct hgemm_operands {
  size_t struct_bytes;  ///< sizeof(hgemm_operands_t)
  const void* a;
  const void* b;
  void* d;
  const void* c;
  const void* bias;
  float alpha;
  float beta;
  void* workspace;
  size_t workspace_bytes;
  void* aux;
} hgemm_operands_t;

#define HGEMM_MATRIX_LAYOUT_INIT \
  { HGEMM_ROW_MAJOR, 0, HGEMM_PACKED, HGEMM_PACKED, 16 }

/// No elements, one batch, all of bf16, row-major, packed and 16-byte aligned.
#define HGEMM_DESCRIPTOR_INIT                                                                          \
  {                                                                                                    \
    sizeof(hgemm_descriptor_t), 0, 0, 0, 1, HGEMM_BF16, HGEMM_BF16, HGEMM_MATRIX_LAYOUT_INIT,          \
        HGEMM_MATRIX_LAYOUT_INIT, HGEMM_MATRIX_LAYOUT_INIT, HGEMM_MATRIX_LAYOUT_INIT, HGEMM_BIAS_NONE, \
        HGEMM_BF16, 0, HGEMM_ACTIVATION_NONE, HGEMM_MATRIX_LAYOUT_INIT, 0, 0                           \
  }

/// The configuration that the library chooses, programmatic dependent launch where it helps, without a workspace.
#define HGEMM_OPTIONS_INIT \
  { sizeof(hgemm_options_t), NULL, 1, 0 }

/// Null, with alpha 1 and beta 0.
#define HGEMM_OPERANDS_INIT \
  { sizeof(hgemm_operands_t), NULL, NULL, NULL, NULL, NULL, 1, 0, NULL, 0, NULL }

/// hopper_gemm::GemmPlan.
typedef struct hgemm_plan hgemm_plan_t;

/// A new plan for the current device, to be ended by hgemm_plan_destroy(). options: may be null, for the defaults. On
/// failure *plan is null. As GemmPlan::create().
HG_API hgemm_status_t hgemm_plan_create(hgemm_plan_t** plan, const hgemm_descriptor_t* descriptor,
                                        const hgemm_options_t* options);

/// What the plan was run for may still be running. Null does nothing.
HG_API void hgemm_plan_destroy(hgemm_plan_t* plan);

/// As GemmPlan::run(): returns without waiting, and can be captured into a graph.
HG_API hgemm_status_t hgemm_plan_run(const hgemm_plan_t* plan, const hgemm_operands_t* operands,
                                     cudaStream_t stream);

/// What hgemm_plan_run() needs of the caller, in bytes. 0 of null.
HG_API size_t hgemm_plan_workspace_bytes(const hgemm_plan_t* plan);

/// As snprintf: writes the configuration's name, as much of it as fits, ended by a NUL, and returns its whole length
/// without the NUL. buffer: may be null if buffer_bytes is 0. Of null the name is empty.
HG_API size_t hgemm_plan_config(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes);

/// The same of GemmPlan::explain(): a few lines of text.
HG_API size_t hgemm_plan_explain(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes);

/// A plan, run once. For a problem that comes again, keep the plan: making one costs more than running.
HG_API hgemm_status_t hgemm_gemm(const hgemm_descriptor_t* descriptor, const hgemm_operands_t* operands,
                                 cudaStream_t stream, const hgemm_options_t* options);

/// As interleave_gate_and_up().
HG_API hgemm_status_t hgemm_interleave_gate_and_up(const hgemm_descriptor_t* descriptor, const void* gate,
                                                   const void* up, const hgemm_matrix_layout_t* halves,
                                                   void* b, cudaStream_t stream);

/// "HGEMM_INVALID_ARGUMENT" and so on; of any other number "unknown status". Never null.
HG_API const char* hgemm_status_string(hgemm_status_t status);

/// The sentence about the last call on this thread that returned a status: empty if that was HGEMM_OK. Stays until the
/// next such call on this thread. Never null.
HG_API const char* hgemm_last_error_message(void);

/// The library's HOPPER_GEMM_VERSION, which need not be the header's.
HG_API int hgemm_version(void);

/// "1.2.3".
HG_API const char* hgemm_version_string(void);

#ifdef __cplusplus
}
#endif

// NOLINTEND(modernize-*)
