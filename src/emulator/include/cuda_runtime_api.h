// Emulated: the part of the CUDA runtime that launches of the project's kernels use. The types are the toolkit's.
#pragma once

#include_next <cuda_runtime_api.h>

#include <vector_functions.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <tuple>
#include <utility>

#include "emulator/device_api.hpp"
#include "emulator/emulator.hpp"
#include "emulator/launch.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's

// nvcc has these built in.
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __forceinline__
#define __forceinline__ __attribute__((always_inline)) inline

namespace hopper_gemm::emulator {

/// One of threadIdx, blockIdx, blockDim and gridDim. Its members depend on the thread that asks.
template <const Index3& (*kOfThread)()>
struct BuiltInIndex {
  template <unsigned Index3::*kMember>
  struct Component {
    operator unsigned() const { return kOfThread().*kMember; }
  };
  Component<&Index3::x> x;
  Component<&Index3::y> y;
  Component<&Index3::z> z;
};

}  // namespace hopper_gemm::emulator

inline constexpr hopper_gemm::emulator::BuiltInIndex<hopper_gemm::emulator::thread_index> threadIdx{};
inline constexpr hopper_gemm::emulator::BuiltInIndex<hopper_gemm::emulator::block_index> blockIdx{};
inline constexpr hopper_gemm::emulator::BuiltInIndex<hopper_gemm::emulator::block_extent> blockDim{};
inline constexpr hopper_gemm::emulator::BuiltInIndex<hopper_gemm::emulator::grid_extent> gridDim{};

inline void __syncthreads() { ::hopper_gemm::emulator::sync_cta(); }
inline void __syncwarp(unsigned mask = 0xffffffffU) { ::hopper_gemm::emulator::sync_warp(mask); }
inline int __syncthreads_and(int predicate) { return ::hopper_gemm::emulator::sync_cta_and(predicate != 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return ::hopper_gemm::emulator::ballot(mask, predicate != 0);
}
inline void* __cluster_map_shared_rank(void* pointer, unsigned rank) {
  return ::hopper_gemm::emulator::map_pointer_to_rank(pointer, rank);
}
// A step of the scheduler stands for 20 ns, about the time of a few instructions.
inline void __nanosleep(unsigned ns) {
  constexpr unsigned kStepNs = 20;
  const auto start = ::hopper_gemm::emulator::elapsed_steps();
  do {
    ::hopper_gemm::emulator::give_way();
  } while (::hopper_gemm::emulator::elapsed_steps() - start < ns / kStepNs);
}
inline int __shfl_sync(unsigned mask, int value, int source_lane) {
  return static_cast<int>(::hopper_gemm::emulator::shuffle(mask, static_cast<unsigned>(value), source_lane));
}
[[noreturn]] inline void __trap() { ::hopper_gemm::emulator::trap("__trap() was called"); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
// These are ordinary loads and stores, because the hints are for caches.
template <typename T>
T __ldg(const T* source) {
  return *source;
}
template <typename T>
T __ldca(const T* source) {
  return *source;
}
template <typename T>
T __ldcg(const T* source) {
  return *source;
}
template <typename T>
T __ldcs(const T* source) {
  return *source;
}
template <typename T>
void __stcs(T* destination, T value) {
  *destination = value;
}
template <typename T>
void __stcg(T* destination, T value) {
  *destination = value;
}

// NOLINTEND(bugprone-reserved-identifier)

namespace hopper_gemm::emulator::runtime {

inline const char* get_error_name(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "the emulated launch failed";
}
inline const char* get_error_string(cudaError_t) { return last_report(); }
// Errors of the call itself. A launch returns them.
inline cudaError_t get_last_error() { return cudaSuccess; }
inline cudaError_t synchronize() { return end_launches(); }
/// The emulated GPU runs only within calls, so this one waits: a host that asks until the stream is idle would otherwise
/// ask for ever.
inline cudaError_t stream_query(cudaStream_t) { return end_launches(); }

/// The emulator captures no graphs.
inline cudaError_t exchange_capture_mode(cudaStreamCaptureMode*) { return cudaSuccess; }

inline cudaError_t get_device_count(int* devices) {
  *devices = 1;
  return cudaSuccess;
}
inline cudaError_t get_device(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t device_get_attribute(int* value, cudaDeviceAttr attribute, int) {
  return device_attribute(value, attribute);
}

// Host and kernels may use all memory.
template <typename T>
cudaError_t malloc(T** memory, std::size_t bytes) {
  try {
    *memory = bytes == 0 ? nullptr : static_cast<T*>(allocate(bytes));
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}
inline cudaError_t free(void* memory) {
  return memory == nullptr || emulator::free(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

// All pools take their memory from the same place.
inline cudaError_t mem_pool_create(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  static char the_pool = 0;
  *pool = reinterpret_cast<cudaMemPool_t>(&the_pool);
  return cudaSuccess;
}
inline cudaError_t mem_pool_destroy(cudaMemPool_t) { return cudaSuccess; }
inline cudaError_t mem_pool_set_attribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
inline cudaError_t malloc_from_pool_async(void** memory, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
  return malloc(memory, bytes);
}
/// The launches ahead end first, because they may use the memory.
inline cudaError_t free_async(void* memory, cudaStream_t) {
  const cudaError_t error = end_launches();
  return error == cudaSuccess ? free(memory) : error;
}

inline cudaError_t memset(void* memory, int value, std::size_t bytes) {
  const cudaError_t error = end_launches();
  std::memset(memory, value, bytes);
  return error;
}
/// The launches ahead end, and no launch behind begins early, so the host may wait here.
inline cudaError_t memset_async(void* memory, int value, std::size_t bytes, cudaStream_t) {
  return memset(memory, value, bytes);
}
template <typename T>
cudaError_t get_symbol_address(void** address, T& variable) {
  *address = &variable;
  return cudaSuccess;
}
inline cudaError_t memcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind) {
  const cudaError_t error = end_launches();
  std::memcpy(destination, source, bytes);
  return error;
}

// There is nothing to load.
inline cudaError_t get_kernel_attributes(cudaFuncAttributes*, const void*) { return cudaSuccess; }

template <typename Kernel>
cudaError_t max_active_clusters(int* clusters, Kernel* kernel, const cudaLaunchConfig_t* config) {
  return emulator::max_active_clusters(clusters, reinterpret_cast<const void*>(kernel), *config);
}

template <typename... Params, typename... Args>
cudaError_t launch_kernel(const cudaLaunchConfig_t* config, void (*kernel)(Params...), Args&&... args) {
  return launch(reinterpret_cast<const void*>(kernel), *config,
                [kernel, parameters = std::tuple<Params...>(std::forward<Args>(args)...)] {
                  std::apply(kernel, parameters);
                });
}

inline cudaError_t driver_get_version(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// The version of the entry point is ignored, because there is only one.
template <typename... Version>
cudaError_t get_driver_entry_point(const char* name, void** function, Version... version_and_flags) {
  const auto result = std::get<sizeof...(version_and_flags) - 1>(std::tuple(version_and_flags...));
  *function = driver_function(name);
  *result = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

}  // namespace hopper_gemm::emulator::runtime

#define cudaGetErrorName ::hopper_gemm::emulator::runtime::get_error_name
#define cudaGetErrorString ::hopper_gemm::emulator::runtime::get_error_string
#define cudaGetLastError ::hopper_gemm::emulator::runtime::get_last_error
#define cudaDeviceSynchronize ::hopper_gemm::emulator::runtime::synchronize
#define cudaStreamQuery ::hopper_gemm::emulator::runtime::stream_query
#define cudaThreadExchangeStreamCaptureMode ::hopper_gemm::emulator::runtime::exchange_capture_mode
#define cudaGetDeviceCount ::hopper_gemm::emulator::runtime::get_device_count
#define cudaGetDevice ::hopper_gemm::emulator::runtime::get_device
#define cudaDeviceGetAttribute ::hopper_gemm::emulator::runtime::device_get_attribute
#define cudaMalloc ::hopper_gemm::emulator::runtime::malloc
#define cudaMallocManaged ::hopper_gemm::emulator::runtime::malloc
#define cudaFree ::hopper_gemm::emulator::runtime::free
#define cudaMemPoolCreate ::hopper_gemm::emulator::runtime::mem_pool_create
#define cudaMemPoolDestroy ::hopper_gemm::emulator::runtime::mem_pool_destroy
#define cudaMemPoolSetAttribute ::hopper_gemm::emulator::runtime::mem_pool_set_attribute
#define cudaMallocFromPoolAsync ::hopper_gemm::emulator::runtime::malloc_from_pool_async
#define cudaFreeAsync ::hopper_gemm::emulator::runtime::free_async
#define cudaMemset ::hopper_gemm::emulator::runtime::memset
#define cudaMemsetAsync ::hopper_gemm::emulator::runtime::memset_async
#define cudaGetSymbolAddress ::hopper_gemm::emulator::runtime::get_symbol_address
#define cudaMemcpy ::hopper_gemm::emulator::runtime::memcpy
#define cudaFuncGetAttributes ::hopper_gemm::emulator::runtime::get_kernel_attributes
#define cudaFuncSetAttribute ::hopper_gemm::emulator::set_kernel_attribute
#define cudaOccupancyMaxActiveClusters ::hopper_gemm::emulator::runtime::max_active_clusters
#define cudaLaunchKernelEx ::hopper_gemm::emulator::runtime::launch_kernel
#define cudaDriverGetVersion ::hopper_gemm::emulator::runtime::driver_get_version
#define cudaGetDriverEntryPoint ::hopper_gemm::emulator::runtime::get_driver_entry_point
#define cudaGetDriverEntryPointByVersion ::hopper_gemm::emulator::runtime::get_driver_entry_point
