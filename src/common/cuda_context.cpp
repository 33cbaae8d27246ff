#include "common/cuda_context.hpp"

#include <cuda.h>

#include "common/cuda_check.hpp"
#include "common/driver_entry_point.hpp"

namespace hopper_gemm {
namespace {

/// These are the types of the driver's functions. The runtime looks the functions up, so nothing links libcuda.
using GetCurrentFn = CUresult (*)(CUcontext*);
using GetIdFn = CUresult (*)(CUcontext, unsigned long long*);

template <typename Fn>
Fn driver_function(const char* name, int cuda_version) {
  return reinterpret_cast<Fn>(find_driver_function(name, cuda_version).function);
}

CUcontext current_context() {
  static const auto get_current = driver_function<GetCurrentFn>("cuCtxGetCurrent", 12000);
  CUcontext context = nullptr;
  if (get_current != nullptr) static_cast<void>(get_current(&context));
  return context;
}

/// 0 if there is no context, or if it was destroyed.
std::uint64_t id_of_current_context() {
  static const auto get_id = driver_function<GetIdFn>("cuCtxGetId", 12000);
  const CUcontext context = current_context();
  unsigned long long id = 0;
  if (context == nullptr || get_id == nullptr || get_id(context, &id) != CUDA_SUCCESS) return 0;
  return id;
}

}  // namespace

std::uint64_t current_context_id() {
  const std::uint64_t id = id_of_current_context();
  if (id != 0) return id;
  // A thread that has not called the runtime yet has no context. This makes the primary one current.
  const RelaxedCapture makes_it_current;
  return id_of_current_context();
}

Status current_context_sm_count(int device, int* sm_count) {
  HG_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(sm_count, cudaDevAttrMultiProcessorCount, device));
#if CUDA_VERSION >= 12040
  using GetResourceFn = CUresult (*)(CUcontext, CUdevResource*, CUdevResourceType);
  static const auto get_resource = driver_function<GetResourceFn>("cuCtxGetDevResource", 12040);
  CUdevResource resource{};
  const CUcontext context = current_context();
  if (context != nullptr && get_resource != nullptr &&
      get_resource(context, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS) {
    *sm_count = static_cast<int>(resource.sm.smCount);
  }
#endif
  return {};
}

}  // namespace hopper_gemm
