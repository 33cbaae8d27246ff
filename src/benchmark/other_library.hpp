#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "common/gemm_args.hpp"
#include "hopper_gemm/gemm.h"
#include "hopper_gemm/gemm.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Another build of the library, loaded from its shared object and called through the C interface of gemm.h. Its
/// symbols stay apart from the program's. For one thread.
class OtherLibrary {
 public:
  /// Loads the shared object at `path`. It must plan and run a GEMM without elements, which checks that its structs are
  /// this program's. InvalidArgument: a sentence that says what to type and names `option`, whose value the path is.
  static Status load(const std::string& option, const std::string& path,
                     std::unique_ptr<OtherLibrary>* library);
  ~OtherLibrary();
  OtherLibrary(const OtherLibrary&) = delete;
  OtherLibrary& operator=(const OtherLibrary&) = delete;

  const std::string& path() const { return path_; }
  /// "0.1.0".
  std::string version() const;

  /// The name of the configuration that the library chooses for `args` on the current device. Touches no operand.
  Status choose(const GemmArgs& args, std::string* config);

  /// Enqueues the GEMM on `stream` and returns without waiting. Keeps the last plan, so that a repeated problem is
  /// planned once. Unsupported: the library cannot compute this.
  Status launch(const GemmArgs& args, cudaStream_t stream);

 private:
  /// The functions of gemm.h that are called.
  struct Api {
    decltype(&hgemm_plan_create) plan_create;
    decltype(&hgemm_plan_destroy) plan_destroy;
    decltype(&hgemm_plan_run) plan_run;
    decltype(&hgemm_plan_config) plan_config;
    decltype(&hgemm_last_error_message) last_error_message;
    decltype(&hgemm_version) version;
    decltype(&hgemm_version_string) version_string;
  };
  struct KeptPlan {
    hgemm_plan_t* plan = nullptr;  ///< null: there is no plan
    GemmDescriptor descriptor;
    std::size_t workspace_limit_bytes = 0;
  };

  /// The sizes of the structs as the library knows them.
  struct StructBytes {
    std::size_t descriptor;
    std::size_t operands;
  };

  OtherLibrary(std::string path, const Api& api) : path_(std::move(path)), api_(api) {}

  static Status find_functions(const std::string& path, Api* api);
  /// Ok if the library plans and runs a GEMM without elements.
  Status check_structs();
  Status find_plan(const GemmArgs& args);
  Status make_plan(hgemm_descriptor_t descriptor, std::size_t workspace_limit_bytes);
  Status run_plan(hgemm_operands_t operands, cudaStream_t stream);
  Status to_status(hgemm_status_t status) const;

  std::string path_;
  Api api_;
  KeptPlan kept_;
  StructBytes struct_bytes_ = {sizeof(hgemm_descriptor_t), sizeof(hgemm_operands_t)};
};

}  // namespace hopper_gemm
