/// The C interface of the library, for C11 and for languages that can call C. It offers what gemm.hpp offers. gemm.hpp
/// documents what each field and each operand means, and which values are allowed.
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
/// Every function accepts null pointers. Several threads may call it at the same time, also while streams capture.
/// gemm.hpp also documents what a plan promises about programmatic dependent launch, captures and CUDA contexts.
///
/// A later version may add fields at the end of a struct. The initialisers set struct_bytes, which tells the library
/// which version of the struct the caller knows. Fields that the caller's version lacks have the initialisers' values.
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

/// The outcome of a call. hgemm_last_error_message() says more.
typedef enum hgemm_status {
  HGEMM_OK = 0,
  HGEMM_INVALID_ARGUMENT = 1,  ///< no GEMM can take this value
  HGEMM_UNSUPPORTED = 2,       ///< a valid GEMM that the library, the GPU or the driver cannot run
  HGEMM_OUT_OF_MEMORY = 3,     ///< of the GPU or of the host
  HGEMM_CUDA_ERROR = 4,        ///< the CUDA runtime or driver refused a call
  HGEMM_INTERNAL_ERROR = 5     ///< a fault of the library
} hgemm_status_t;

/// hopper_gemm::DataType, the type of elements.
typedef enum hgemm_data_type { HGEMM_BF16 = 0, HGEMM_FP16 = 1, HGEMM_FP32 = 2 } hgemm_data_type_t;

/// hopper_gemm::Layout: either rows or columns are contiguous.
typedef enum hgemm_layout { HGEMM_ROW_MAJOR = 0, HGEMM_COLUMN_MAJOR = 1 } hgemm_layout_t;

/// hopper_gemm::Bias, the vector that the epilogue adds.
typedef enum hgemm_bias {
  HGEMM_BIAS_NONE = 0,
  HGEMM_BIAS_PER_ROW = 1,
  HGEMM_BIAS_PER_COLUMN = 2
} hgemm_bias_t;

/// hopper_gemm::Activation, the function that the epilogue applies.
typedef enum hgemm_activation {
  HGEMM_ACTIVATION_NONE = 0,
  HGEMM_ACTIVATION_RELU = 1,
  HGEMM_ACTIVATION_GELU = 2,
  HGEMM_ACTIVATION_GELU_TANH = 3,
  HGEMM_ACTIVATION_SILU = 4
} hgemm_activation_t;

/// A leading dimension or a batch stride without gaps.
#define HGEMM_PACKED INT64_C(-1)

/// hopper_gemm::MatrixLayout. This struct never grows, because other structs contain it.
typedef struct hgemm_matrix_layout {
  hgemm_layout_t order;
  int32_t transposed;         ///< 0 or 1
  int64_t leading_dimension;  ///< elements, or HGEMM_PACKED
  int64_t batch_stride;       ///< elements, or HGEMM_PACKED; 0: all batches share one matrix
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
  hgemm_matrix_layout_t aux;  ///< ignored unless has_aux is 1
  int32_t gated;              ///< 0 or 1
  int32_t has_aux;            ///< 0 or 1
} hgemm_descriptor_t;

/// hopper_gemm::GemmOptions.
typedef struct hgemm_options {
  size_t struct_bytes;  ///< sizeof(hgemm_options_t)
  const char* config;   ///< null means the same as an empty string
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

/// A matrix that is row-major, not transposed, packed and 16-byte aligned.
#define HGEMM_MATRIX_LAYOUT_INIT \
  { HGEMM_ROW_MAJOR, 0, HGEMM_PACKED, HGEMM_PACKED, 16 }

/// A problem without elements: one batch, with bf16 matrices that are row-major, packed and 16-byte aligned.
#define HGEMM_DESCRIPTOR_INIT                                                                          \
  {                                                                                                    \
    sizeof(hgemm_descriptor_t), 0, 0, 0, 1, HGEMM_BF16, HGEMM_BF16, HGEMM_MATRIX_LAYOUT_INIT,          \
        HGEMM_MATRIX_LAYOUT_INIT, HGEMM_MATRIX_LAYOUT_INIT, HGEMM_MATRIX_LAYOUT_INIT, HGEMM_BIAS_NONE, \
        HGEMM_BF16, 0, HGEMM_ACTIVATION_NONE, HGEMM_MATRIX_LAYOUT_INIT, 0, 0                           \
  }

/// The library chooses the configuration. It uses programmatic dependent launch where that helps, and at most 64 MiB of
/// workspace.
#define HGEMM_OPTIONS_INIT \
  { sizeof(hgemm_options_t), NULL, 1, (size_t)64 << 20 }

/// Null pointers, with alpha 1 and beta 0.
#define HGEMM_OPERANDS_INIT \
  { sizeof(hgemm_operands_t), NULL, NULL, NULL, NULL, NULL, 1, 0, NULL, 0, NULL }

/// hopper_gemm::GemmPlan.
typedef struct hgemm_plan hgemm_plan_t;

/// Makes a new plan for the current device, like GemmPlan::create(). hgemm_plan_destroy() frees it. options: null for
/// the defaults. On failure *plan is null.
HG_API hgemm_status_t hgemm_plan_create(hgemm_plan_t** plan, const hgemm_descriptor_t* descriptor,
                                        const hgemm_options_t* options);

/// Frees a plan. Kernels that the plan has launched may still be running. Null does nothing.
HG_API void hgemm_plan_destroy(hgemm_plan_t* plan);

/// Like GemmPlan::run(): enqueues the GEMM on `stream` and returns without waiting. A graph can capture it.
HG_API hgemm_status_t hgemm_plan_run(const hgemm_plan_t* plan, const hgemm_operands_t* operands,
                                     cudaStream_t stream);

/// The bytes of a workspace that the caller gives hgemm_plan_run(), or that it takes by itself. 0 if the plan is null.
HG_API size_t hgemm_plan_workspace_bytes(const hgemm_plan_t* plan);

/// Writes as much of the configuration's name as fits, with a NUL at the end, and returns the length of the whole name
/// without the NUL, like snprintf. buffer: may be null if buffer_bytes is 0. A null plan has an empty name.
HG_API size_t hgemm_plan_config(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes);

/// Writes the text of GemmPlan::explain(), a few lines, in the same way.
HG_API size_t hgemm_plan_explain(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes);

/// Makes a plan and runs it once. If the problem comes again, keep a plan instead: making one costs more than running
/// it.
HG_API hgemm_status_t hgemm_gemm(const hgemm_descriptor_t* descriptor, const hgemm_operands_t* operands,
                                 cudaStream_t stream, const hgemm_options_t* options);

/// Like interleave_gate_and_up() in gemm.hpp.
HG_API hgemm_status_t hgemm_interleave_gate_and_up(const hgemm_descriptor_t* descriptor, const void* gate,
                                                   const void* up, const hgemm_matrix_layout_t* halves,
                                                   void* b, cudaStream_t stream);

/// Like load_tuning_file() in gemm.hpp. path: ends with a NUL.
HG_API hgemm_status_t hgemm_load_tuning_file(const char* path);
/// Like load_probe_file() in gemm.hpp. path: ends with a NUL.
HG_API hgemm_status_t hgemm_load_probe_file(const char* path);

/// The enumerator's name, such as "HGEMM_INVALID_ARGUMENT", or "unknown status" for any other number. Never null.
HG_API const char* hgemm_status_string(hgemm_status_t status);

/// The error message of this thread's last call that returned a status. It is empty if that status was HGEMM_OK. The
/// pointer is valid until this thread's next such call. Never null.
HG_API const char* hgemm_last_error_message(void);

/// The HOPPER_GEMM_VERSION of the library that was loaded. The header's may differ.
HG_API int hgemm_version(void);

/// The same as a string, such as "1.2.3".
HG_API const char* hgemm_version_string(void);

#ifdef __cplusplus
}
#endif

// NOLINTEND(modernize-*)
