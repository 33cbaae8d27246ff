#include "hopper_gemm/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "hopper_gemm/gemm.hpp"

struct hgemm_plan {
  hopper_gemm::GemmPlan plan;
};

namespace hopper_gemm {
namespace {

static_assert(static_cast<int>(DataType::BFloat16) == HGEMM_BF16 &&
              static_cast<int>(DataType::Float16) == HGEMM_FP16 &&
              static_cast<int>(DataType::Float32) == HGEMM_FP32);
static_assert(static_cast<int>(Layout::RowMajor) == HGEMM_ROW_MAJOR &&
              static_cast<int>(Layout::ColumnMajor) == HGEMM_COLUMN_MAJOR);
static_assert(static_cast<int>(Bias::None) == HGEMM_BIAS_NONE &&
              static_cast<int>(Bias::PerRow) == HGEMM_BIAS_PER_ROW &&
              static_cast<int>(Bias::PerColumn) == HGEMM_BIAS_PER_COLUMN);
static_assert(static_cast<int>(Activation::None) == HGEMM_ACTIVATION_NONE &&
              static_cast<int>(Activation::Relu) == HGEMM_ACTIVATION_RELU &&
              static_cast<int>(Activation::Gelu) == HGEMM_ACTIVATION_GELU &&
              static_cast<int>(Activation::GeluTanh) == HGEMM_ACTIVATION_GELU_TANH &&
              static_cast<int>(Activation::Silu) == HGEMM_ACTIVATION_SILU);
static_assert(kPacked == HGEMM_PACKED);

// A buffer of fixed size, because the error may be that memory ran out. A longer message is cut.
thread_local std::array<char, 2048> last_error_message{};

std::size_t copy_text(std::string_view text, char* buffer, std::size_t buffer_bytes) {
  if (buffer != nullptr && buffer_bytes > 0) {
    const std::size_t length = std::min(text.size(), buffer_bytes - 1);
    if (length != 0) std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return text.size();
}

hgemm_status_t report(hgemm_status_t status, std::string_view message) {
  copy_text(message, last_error_message.data(), last_error_message.size());
  return status;
}

hgemm_status_t report(const Status& status) {
  switch (status.code()) {
    case StatusCode::Ok: last_error_message[0] = '\0'; return HGEMM_OK;
    case StatusCode::InvalidArgument: return report(HGEMM_INVALID_ARGUMENT, status.message());
    case StatusCode::Unsupported: return report(HGEMM_UNSUPPORTED, status.message());
    case StatusCode::OutOfMemory: return report(HGEMM_OUT_OF_MEMORY, status.message());
    case StatusCode::CudaError: return report(HGEMM_CUDA_ERROR, status.message());
    case StatusCode::Timeout: break;
  }
  return report(HGEMM_INTERNAL_ERROR, status.message());
}

// Turns every exception into a status, because C cannot catch one.
template <typename Function>
hgemm_status_t guarded(Function function) noexcept {
  try {
    return report(function());
  } catch (const std::bad_alloc&) {
    return report(HGEMM_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception& exception) {
    return report(HGEMM_INTERNAL_ERROR, exception.what());
  } catch (...) {
    return report(HGEMM_INTERNAL_ERROR, "an unknown exception");
  }
}

hgemm_status_t load_file(const char* path, Status (*load)(const std::string&)) {
  return guarded([&] { return path == nullptr ? invalid_argument("path is null") : load(path); });
}

// Before gated GEMMs and aux were added, the structs ended where these fields begin. Their last field and the padding
// behind it took 8 bytes.
static_assert(offsetof(hgemm_descriptor_t, aux) == offsetof(hgemm_descriptor_t, activation) + 8);
static_assert(offsetof(hgemm_operands_t, aux) == offsetof(hgemm_operands_t, workspace_bytes) + 8);

/// Copies a struct that the caller passes. The caller may use an older version of the struct, of first_bytes. read:
/// must hold the initialiser's values, which fields that the caller's version lacks keep.
/// InvalidArgument: the struct is null, or its version is unknown.
template <typename Struct>
Status read_struct(const char* name, const char* type, const Struct* value, std::size_t first_bytes,
                   Struct* read) {
  if (value == nullptr) return invalid_argument(std::string(name) + " is null");
  if (value->struct_bytes == sizeof(Struct) || value->struct_bytes == first_bytes) {
    std::memcpy(read, value, value->struct_bytes);
    return {};
  }
  return invalid_argument(
      std::string(name) + "->struct_bytes is " + std::to_string(value->struct_bytes) + ", but a " + type +
      " of this library has " + std::to_string(sizeof(Struct)) +
      "; start from its initialiser and use the header of library " HOPPER_GEMM_VERSION_STRING);
}

/// The number in memory. A C enum may hold any number, but C++ must not read an enum whose value is none of its names.
template <typename CEnum>
int number_of(const CEnum& value) {
  static_assert(sizeof(CEnum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

MatrixLayout from_c(const hgemm_matrix_layout_t& layout) {
  MatrixLayout result;
  result.order = static_cast<Layout>(number_of(layout.order));
  result.transposed = layout.transposed != 0;
  result.leading_dimension = layout.leading_dimension;
  result.batch_stride = layout.batch_stride;
  // A number that does not fit an int is no valid alignment either.
  result.alignment_bytes =
      std::in_range<int>(layout.alignment_bytes) ? static_cast<int>(layout.alignment_bytes) : 0;
  return result;
}

GemmDescriptor from_c(const hgemm_descriptor_t& descriptor) {
  GemmDescriptor result;
  result.m = descriptor.m;
  result.n = descriptor.n;
  result.k = descriptor.k;
  result.batch_count = descriptor.batch_count;
  result.input_type = static_cast<DataType>(number_of(descriptor.input_type));
  result.output_type = static_cast<DataType>(number_of(descriptor.output_type));
  result.a = from_c(descriptor.a);
  result.b = from_c(descriptor.b);
  result.c = from_c(descriptor.c);
  result.d = from_c(descriptor.d);
  result.bias = static_cast<Bias>(number_of(descriptor.bias));
  result.bias_type = static_cast<DataType>(number_of(descriptor.bias_type));
  result.bias_batch_stride = descriptor.bias_batch_stride;
  result.activation = static_cast<Activation>(number_of(descriptor.activation));
  result.gated = descriptor.gated != 0;
  result.has_aux = descriptor.has_aux != 0;
  result.aux = from_c(descriptor.aux);
  return result;
}

GemmOptions from_c(const hgemm_options_t& options) {
  GemmOptions result;
  if (options.config != nullptr) result.config = options.config;
  result.programmatic_dependent_launch = options.programmatic_dependent_launch != 0;
  result.workspace_limit_bytes = options.workspace_limit_bytes;
  return result;
}

GemmOperands from_c(const hgemm_operands_t& operands) {
  GemmOperands result;
  result.a = operands.a;
  result.b = operands.b;
  result.d = operands.d;
  result.c = operands.c;
  result.bias = operands.bias;
  result.alpha = operands.alpha;
  result.beta = operands.beta;
  result.workspace = operands.workspace;
  result.workspace_bytes = operands.workspace_bytes;
  result.aux = operands.aux;
  return result;
}

Status read(const hgemm_descriptor_t* descriptor, GemmDescriptor* gemm) {
  hgemm_descriptor_t known = HGEMM_DESCRIPTOR_INIT;
  HG_RETURN_IF_ERROR(
      read_struct("descriptor", "hgemm_descriptor_t", descriptor, offsetof(hgemm_descriptor_t, aux), &known));
  *gemm = from_c(known);
  return {};
}

Status create(const hgemm_descriptor_t* descriptor, const hgemm_options_t* options, GemmPlan* plan) {
  GemmDescriptor gemm;
  HG_RETURN_IF_ERROR(read(descriptor, &gemm));
  if (options == nullptr) return plan->create(gemm);
  hgemm_options_t known = HGEMM_OPTIONS_INIT;
  HG_RETURN_IF_ERROR(read_struct("options", "hgemm_options_t", options, sizeof(hgemm_options_t), &known));
  return plan->create(gemm, from_c(known));
}

Status run(const GemmPlan& plan, const hgemm_operands_t* operands, cudaStream_t stream) {
  hgemm_operands_t known = HGEMM_OPERANDS_INIT;
  HG_RETURN_IF_ERROR(
      read_struct("operands", "hgemm_operands_t", operands, offsetof(hgemm_operands_t, aux), &known));
  return plan.run(from_c(known), stream);
}

}  // namespace
}  // namespace hopper_gemm

extern "C" {

hgemm_status_t hgemm_plan_create(hgemm_plan_t** plan, const hgemm_descriptor_t* descriptor,
                                 const hgemm_options_t* options) {
  return hopper_gemm::guarded([&]() -> hopper_gemm::Status {
    if (plan == nullptr) return hopper_gemm::invalid_argument("plan is null");
    *plan = nullptr;
    auto made = std::make_unique<hgemm_plan>();
    HG_RETURN_IF_ERROR(hopper_gemm::create(descriptor, options, &made->plan));
    *plan = made.release();
    return {};
  });
}

void hgemm_plan_destroy(hgemm_plan_t* plan) { delete plan; }

hgemm_status_t hgemm_plan_run(const hgemm_plan_t* plan, const hgemm_operands_t* operands,
                              cudaStream_t stream) {
  return hopper_gemm::guarded([&] {
    if (plan == nullptr) return hopper_gemm::invalid_argument("plan is null");
    return hopper_gemm::run(plan->plan, operands, stream);
  });
}

size_t hgemm_plan_workspace_bytes(const hgemm_plan_t* plan) {
  return plan == nullptr ? 0 : plan->plan.workspace_bytes();
}

size_t hgemm_plan_config(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes) {
  return hopper_gemm::copy_text(plan == nullptr ? std::string_view() : plan->plan.config(), buffer,
                                buffer_bytes);
}

size_t hgemm_plan_explain(const hgemm_plan_t* plan, char* buffer, size_t buffer_bytes) {
  try {
    return hopper_gemm::copy_text(plan == nullptr ? std::string() : plan->plan.explain(), buffer,
                                  buffer_bytes);
  } catch (const std::exception&) {
    return hopper_gemm::copy_text("", buffer, buffer_bytes);
  }
}

hgemm_status_t hgemm_gemm(const hgemm_descriptor_t* descriptor, const hgemm_operands_t* operands,
                          cudaStream_t stream, const hgemm_options_t* options) {
  return hopper_gemm::guarded([&]() -> hopper_gemm::Status {
    hopper_gemm::GemmPlan plan;
    HG_RETURN_IF_ERROR(hopper_gemm::create(descriptor, options, &plan));
    return hopper_gemm::run(plan, operands, stream);
  });
}

hgemm_status_t hgemm_interleave_gate_and_up(const hgemm_descriptor_t* descriptor, const void* gate,
                                            const void* up, const hgemm_matrix_layout_t* halves, void* b,
                                            cudaStream_t stream) {
  return hopper_gemm::guarded([&]() -> hopper_gemm::Status {
    hopper_gemm::GemmDescriptor gemm;
    HG_RETURN_IF_ERROR(hopper_gemm::read(descriptor, &gemm));
    if (halves == nullptr) return hopper_gemm::invalid_argument("halves is null");
    return hopper_gemm::interleave_gate_and_up(gemm, gate, up, hopper_gemm::from_c(*halves), b, stream);
  });
}

hgemm_status_t hgemm_load_tuning_file(const char* path) {
  return hopper_gemm::load_file(path, hopper_gemm::load_tuning_file);
}

hgemm_status_t hgemm_load_probe_file(const char* path) {
  return hopper_gemm::load_file(path, hopper_gemm::load_probe_file);
}

const char* hgemm_status_string(hgemm_status_t status) {
  switch (hopper_gemm::number_of(status)) {
    case HGEMM_OK: return "HGEMM_OK";
    case HGEMM_INVALID_ARGUMENT: return "HGEMM_INVALID_ARGUMENT";
    case HGEMM_UNSUPPORTED: return "HGEMM_UNSUPPORTED";
    case HGEMM_OUT_OF_MEMORY: return "HGEMM_OUT_OF_MEMORY";
    case HGEMM_CUDA_ERROR: return "HGEMM_CUDA_ERROR";
    case HGEMM_INTERNAL_ERROR: return "HGEMM_INTERNAL_ERROR";
    default: return "unknown status";
  }
}

const char* hgemm_last_error_message(void) { return hopper_gemm::last_error_message.data(); }

int hgemm_version(void) { return HOPPER_GEMM_VERSION; }

const char* hgemm_version_string(void) { return HOPPER_GEMM_VERSION_STRING; }

}  // extern "C"
