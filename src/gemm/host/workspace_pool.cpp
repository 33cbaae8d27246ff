#include "gemm/host/workspace_pool.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "common/cuda_check.hpp"
#include "common/cuda_context.hpp"

namespace hopper_gemm::library {
namespace {

Status set_attributes(cudaMemPool_t pool) {
  // By default a pool returns its memory to the device at each synchronisation, and the next run would wait for it.
  std::uint64_t keeps_all = std::numeric_limits<std::uint64_t>::max();
  HG_RETURN_IF_CUDA_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keeps_all));
  // By default a pool lets one stream wait for another rather than take more memory.
  int may_make_streams_wait = 0;
  HG_RETURN_IF_CUDA_ERROR(
      cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &may_make_streams_wait));
  return {};
}

Status make_pool(int device, cudaMemPool_t* pool) {
  const RelaxedCapture relaxed;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = device};
  cudaMemPool_t made = nullptr;
  HG_RETURN_IF_CUDA_ERROR(cudaMemPoolCreate(&made, &properties));
  const Status is_set_up = set_attributes(made);
  if (is_set_up.ok()) {
    *pool = made;
  } else {
    cudaMemPoolDestroy(made);
  }
  return is_set_up;
}

/// The pool ends with its context, and no other context ever has the same number.
Status pool_of(const Device& device, cudaMemPool_t* pool) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::uint64_t>, cudaMemPool_t> pools;
  const std::lock_guard<std::mutex> lock(mutex);
  cudaMemPool_t& known = pools[{device.id, device.context}];
  if (known == nullptr) HG_RETURN_IF_ERROR(make_pool(device.id, &known));
  *pool = known;
  return {};
}

}  // namespace

Status StreamWorkspace::allocate(const Device& device, std::size_t bytes) {
  cudaMemPool_t pool = nullptr;
  HG_RETURN_IF_ERROR(pool_of(device, &pool));
  const cudaError_t error = cudaMallocFromPoolAsync(&data_, bytes, pool, stream_);
  if (error == cudaSuccess) return {};
  data_ = nullptr;
  return cuda_status(error, "allocating a workspace of " + std::to_string(bytes) + " bytes");
}

Status StreamWorkspace::release() {
  void* const data = std::exchange(data_, nullptr);
  return data == nullptr ? Status() : cuda_status(cudaFreeAsync(data, stream_), "giving back a workspace");
}

}  // namespace hopper_gemm::library
