#include "fake_library.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Faults that CMake builds in: FAKE_LIBRARY_VERSION, FAKE_LIBRARY_WITHOUT_RUN, FAKE_LIBRARY_OLD_OPERANDS. And a library of
   before the gate: FAKE_LIBRARY_WITHOUT_GATE. */
#ifndef FAKE_LIBRARY_VERSION
#define FAKE_LIBRARY_VERSION HOPPER_GEMM_VERSION
#endif
#ifdef FAKE_LIBRARY_WITHOUT_GATE
#define FAKE_LIBRARY_DESCRIPTOR_BYTES offsetof(hgemm_descriptor_t, aux)
#else
#define FAKE_LIBRARY_DESCRIPTOR_BYTES sizeof(hgemm_descriptor_t)
#endif
#if defined(FAKE_LIBRARY_WITHOUT_GATE)
#define FAKE_LIBRARY_OPERANDS_BYTES offsetof(hgemm_operands_t, aux)
#elif defined(FAKE_LIBRARY_OLD_OPERANDS)
#define FAKE_LIBRARY_OPERANDS_BYTES (sizeof(hgemm_operands_t) - sizeof(size_t))
#else
#define FAKE_LIBRARY_OPERANDS_BYTES sizeof(hgemm_operands_t)
#endif

struct hgemm_plan {
  int64_t k;
};

static fake_calls_t calls;
static const char* last_error_message = "";
static char version_text[32];

static hgemm_status_t fail(hgemm_status_t status, const char* message) {
  last_error_message = message;
  return status;
}

const fake_calls_t* fake_library_calls(void) { return &calls; }

hgemm_status_t hgemm_plan_create(hgemm_plan_t** plan, const hgemm_descriptor_t* descriptor,
                                 const hgemm_options_t* options) {
  *plan = NULL;
  if (descriptor->struct_bytes != FAKE_LIBRARY_DESCRIPTOR_BYTES) {
    return fail(HGEMM_INVALID_ARGUMENT, "descriptor->struct_bytes is wrong");
  }
  if (options->struct_bytes != sizeof(hgemm_options_t)) {
    return fail(HGEMM_INVALID_ARGUMENT, "options->struct_bytes is wrong");
  }
  if (descriptor->k > FAKE_LIBRARY_MAX_K) return fail(HGEMM_INVALID_ARGUMENT, "K is too long for the fake");
  *plan = malloc(sizeof(hgemm_plan_t));
  if (*plan == NULL) return fail(HGEMM_OUT_OF_MEMORY, "the host is out of memory");
  (*plan)->k = descriptor->k;
  calls.descriptor = *descriptor;
  calls.options = *options;
  ++calls.plans_made;
  return HGEMM_OK;
}

void hgemm_plan_destroy(hgemm_plan_t* plan) {
  if (plan == NULL) return;
  ++calls.plans_destroyed;
  free(plan);
}

#ifndef FAKE_LIBRARY_WITHOUT_RUN
hgemm_status_t hgemm_plan_run(const hgemm_plan_t* plan, const hgemm_operands_t* operands,
                              cudaStream_t stream) {
  if (plan == NULL) return fail(HGEMM_INVALID_ARGUMENT, "plan is null");
  if (operands->struct_bytes != FAKE_LIBRARY_OPERANDS_BYTES) {
    return fail(HGEMM_INVALID_ARGUMENT, "operands->struct_bytes is wrong");
  }
  calls.operands = *operands;
  calls.stream = stream;
  ++calls.runs;
  if (operands->alpha == 0) return fail(HGEMM_INTERNAL_ERROR, "the fake fails");
  return HGEMM_OK;
}
#endif

size_t hgemm_plan_config(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes) {
  return (size_t)snprintf(buffer, buffer_bytes, "other_k%lld", (long long)plan->k);
}

const char* hgemm_last_error_message(void) { return last_error_message; }

int hgemm_version(void) { return FAKE_LIBRARY_VERSION; }

const char* hgemm_version_string(void) {
  snprintf(version_text, sizeof(version_text), "%d.%d.%d", FAKE_LIBRARY_VERSION / 10000,
           FAKE_LIBRARY_VERSION / 100 % 100, FAKE_LIBRARY_VERSION % 100);
  return version_text;
}
