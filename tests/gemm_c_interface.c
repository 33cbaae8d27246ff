#include "gemm_c_interface.h"

hgemm_descriptor_t initial_descriptor(void) {
  const hgemm_descriptor_t descriptor = HGEMM_DESCRIPTOR_INIT;
  return descriptor;
}

hgemm_options_t initial_options(void) {
  const hgemm_options_t options = HGEMM_OPTIONS_INIT;
  return options;
}

hgemm_operands_t initial_operands(void) {
  const hgemm_operands_t operands = HGEMM_OPERANDS_INIT;
  return operands;
}

hgemm_status_t load_tuning_file_from_c(const char* path) { return hgemm_load_tuning_file(path); }
hgemm_status_t load_probe_file_from_c(const char* path) { return hgemm_load_probe_file(path); }

hgemm_status_t run_from_c(const void* a, const void* b, void* d, char* config, size_t config_bytes) {
  hgemm_descriptor_t descriptor = HGEMM_DESCRIPTOR_INIT;
  hgemm_operands_t operands = HGEMM_OPERANDS_INIT;
  hgemm_plan_t* plan = NULL;
  hgemm_status_t status;
  descriptor.m = 16;
  descriptor.n = 24;
  descriptor.k = 8;
  status = hgemm_plan_create(&plan, &descriptor, NULL);
  if (status != HGEMM_OK) return status;
  (void)hgemm_plan_config(plan, config, config_bytes);
  operands.a = a;
  operands.b = b;
  operands.d = d;
  status = hgemm_plan_run(plan, &operands, NULL);
  hgemm_plan_destroy(plan);
  return status;
}
