/* What gemm_c_interface.c, a translation unit of C, lets the tests of C++ see. */
#pragma once

#include "hopper_gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

hgemm_descriptor_t initial_descriptor(void);
hgemm_options_t initial_options(void);
hgemm_operands_t initial_operands(void);

/* Like hgemm_load_tuning_file(). */
hgemm_status_t load_tuning_file_from_c(const char* path);
/* Like hgemm_load_probe_file(). */
hgemm_status_t load_probe_file_from_c(const char* path);

/* A plan made, asked, run and destroyed: the first status that is not HGEMM_OK. */
hgemm_status_t run_from_c(const void* a, const void* b, void* d, char* config, size_t config_bytes);

#ifdef __cplusplus
}
#endif
