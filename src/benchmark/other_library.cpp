#include "benchmark/other_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/quoted_text.hpp"
#include "registry/gemm_descriptor.hpp"

namespace hopper_gemm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAdvice =
    "type the path of another build's libhopper_gemm.so, such as ../before/build/release/libhopper_gemm.so";

template <typename Function>
Status find_function(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function != nullptr) return {};
  return invalid_argument(
      fmt::format("it is not a build of this library, because it has no function {}", name));
}

/// The part of a version that the shared object's name has: "0.1". Versions with the same part have the same interface.
std::string interface_of(int version) { return fmt::format("{}.{}", version / 10000, version / 100 % 100); }

hgemm_matrix_layout_t to_c(const MatrixLayout& layout) {
  return {.order = static_cast<hgemm_layout_t>(layout.order),
          .transposed = layout.transposed ? 1 : 0,
          .leading_dimension = layout.leading_dimension,
          .batch_stride = layout.batch_stride,
          .alignment_bytes = layout.alignment_bytes};
}

hgemm_descriptor_t to_c(const GemmDescriptor& gemm) {
  return {.struct_bytes = 0,
          .m = gemm.m,
          .n = gemm.n,
          .k = gemm.k,
          .batch_count = gemm.batch_count,
          .input_type = static_cast<hgemm_data_type_t>(gemm.input_type),
          .output_type = static_cast<hgemm_data_type_t>(gemm.output_type),
          .a = to_c(gemm.a),
          .b = to_c(gemm.b),
          .c = to_c(gemm.c),
          .d = to_c(gemm.d),
          .bias = static_cast<hgemm_bias_t>(gemm.bias),
          .bias_type = static_cast<hgemm_data_type_t>(gemm.bias_type),
          .bias_batch_stride = gemm.bias_batch_stride,
          .activation = static_cast<hgemm_activation_t>(gemm.activation),
          .aux = to_c(gemm.aux),
          .gated = gemm.gated ? 1 : 0,
          .has_aux = gemm.has_aux ? 1 : 0};
}

hgemm_operands_t operands_of(const GemmArgs& args) {
  return {.struct_bytes = 0,
          .a = args.a,
          .b = args.b,
          .d = args.d,
          .c = args.c,
          .bias = args.bias,
          .alpha = args.alpha,
          .beta = args.beta,
          .workspace = args.workspace,
          .workspace_bytes = args.workspace_bytes,
          .aux = nullptr};
}

}  // namespace

Status OtherLibrary::load(const std::string& option, const std::string& path,
                          std::unique_ptr<OtherLibrary>* library) {
  const auto refuse = [&](std::string_view reason, std::string_view advice = kAdvice) {
    return invalid_argument(
        fmt::format("{} cannot race '{}': {}; {}", option, path, one_line(std::string(reason)), advice));
  };
  Api api{};
  if (const Status found = find_functions(path, &api); !found.ok()) return refuse(found.message());
  std::unique_ptr<OtherLibrary> loaded(new OtherLibrary(path, api));
  const std::string known_interface = interface_of(HOPPER_GEMM_VERSION);
  if (interface_of(api.version()) != known_interface) {
    return refuse(
        fmt::format(
            "it is version {} of the library, but this program is version {} and can call only versions {}.*",
            loaded->version(), HOPPER_GEMM_VERSION_STRING, known_interface),
        "type the path of a build of such a version");
  }
  if (const Status checked = loaded->check_structs(); !checked.ok()) {
    if (checked.code() != StatusCode::InvalidArgument) {
      return {checked.code(),
              fmt::format("the library in '{}' does not run here: {}", path, checked.message())};
    }
    return refuse(fmt::format("its gemm.h has other structs than this program's ({})", checked.message()),
                  "type the path of a build whose gemm.h has the same structs");
  }
  *library = std::move(loaded);
  return {};
}

OtherLibrary::~OtherLibrary() { api_.plan_destroy(kept_.plan); }

std::string OtherLibrary::version() const { return api_.version_string(); }

Status OtherLibrary::choose(const GemmArgs& args, std::string* config) {
  HG_RETURN_IF_ERROR(find_plan(args));
  config->resize(api_.plan_config(kept_.plan, nullptr, 0));
  // A string has room for a NUL behind its last character.
  api_.plan_config(kept_.plan, config->data(), config->size() + 1);
  return {};
}

Status OtherLibrary::launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(find_plan(args));
  return run_plan(operands_of(args), stream);
}

Status OtherLibrary::find_functions(const std::string& path, Api* api) {
  std::error_code error;
  // dlopen() would wait for somebody to write to a pipe.
  if (!fs::is_regular_file(path, error)) {
    return invalid_argument(error ? error.message() : "it is not a regular file");
  }
  // dlopen() searches the folders of installed libraries for a name without a slash.
  const std::string absolute = fs::absolute(path);
  // RTLD_LOCAL binds nobody else's calls to its functions. Its own calls go to its own functions, because the program
  // exports none of the library's; a test checks that. The library is never closed, because one of its kernels may run
  // until the process ends.
  void* const handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string_view reason = dlerror();
    const std::string prefix = absolute + ": ";
    return invalid_argument(std::string(reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason));
  }
  HG_RETURN_IF_ERROR(find_function(handle, "hgemm_plan_create", &api->plan_create));
  HG_RETURN_IF_ERROR(find_function(handle, "hgemm_plan_destroy", &api->plan_destroy));
  HG_RETURN_IF_ERROR(find_function(handle, "hgemm_plan_run", &api->plan_run));
  HG_RETURN_IF_ERROR(find_function(handle, "hgemm_plan_config", &api->plan_config));
  HG_RETURN_IF_ERROR(find_function(handle, "hgemm_last_error_message", &api->last_error_message));
  HG_RETURN_IF_ERROR(find_function(handle, "hgemm_version", &api->version));
  return find_function(handle, "hgemm_version_string", &api->version_string);
}

Status OtherLibrary::check_structs() {
  const hgemm_descriptor_t nothing = HGEMM_DESCRIPTOR_INIT;
  const hgemm_operands_t operands = HGEMM_OPERANDS_INIT;
  const auto check = [&]() -> Status {
    HG_RETURN_IF_ERROR(make_plan(nothing, 0));
    const Status status = run_plan(operands, nullptr);
    api_.plan_destroy(std::exchange(kept_.plan, nullptr));
    return status;
  };
  const Status status = check();
  if (status.code() != StatusCode::InvalidArgument) return status;
  // A library from before the gated GEMM has structs that end before the fields for it, and takes no others.
  struct_bytes_ = {.descriptor = offsetof(hgemm_descriptor_t, aux),
                   .operands = offsetof(hgemm_operands_t, aux)};
  return check().ok() ? Status{} : status;
}

Status OtherLibrary::find_plan(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_gemm(args));
  const GemmDescriptor descriptor = descriptor_of(args);
  const bool is_it = kept_.plan != nullptr && kept_.workspace_limit_bytes == args.workspace_bytes &&
                     is_same_problem(kept_.descriptor, descriptor);
  if (is_it) return {};
  if (descriptor.gated && struct_bytes_.descriptor < sizeof(hgemm_descriptor_t)) {
    return unsupported("its version has no gated GEMM");
  }
  const Status made = make_plan(to_c(descriptor), args.workspace_bytes);
  // check_gemm() has found no fault, so this library cannot compute the GEMM.
  if (made.code() == StatusCode::InvalidArgument) return unsupported(made.message());
  HG_RETURN_IF_ERROR(made);
  kept_.descriptor = descriptor;
  kept_.workspace_limit_bytes = args.workspace_bytes;
  return {};
}

Status OtherLibrary::make_plan(hgemm_descriptor_t descriptor, std::size_t workspace_limit_bytes) {
  descriptor.struct_bytes = struct_bytes_.descriptor;
  hgemm_options_t options = HGEMM_OPTIONS_INIT;
  options.workspace_limit_bytes = workspace_limit_bytes;
  api_.plan_destroy(std::exchange(kept_.plan, nullptr));
  return to_status(api_.plan_create(&kept_.plan, &descriptor, &options));
}

Status OtherLibrary::run_plan(hgemm_operands_t operands, cudaStream_t stream) {
  operands.struct_bytes = struct_bytes_.operands;
  return to_status(api_.plan_run(kept_.plan, &operands, stream));
}

Status OtherLibrary::to_status(hgemm_status_t status) const {
  if (status == HGEMM_OK) return {};
  const std::string message = api_.last_error_message();
  switch (status) {
    case HGEMM_INVALID_ARGUMENT: return invalid_argument(message);
    case HGEMM_UNSUPPORTED: return unsupported(message);
    case HGEMM_OUT_OF_MEMORY: return out_of_memory(message);
    // A fault of the library ends a measurement, as a fault of CUDA does.
    default: return {StatusCode::CudaError, message};
  }
}

}  // namespace hopper_gemm
