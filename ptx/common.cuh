// What every header of this folder needs: the integer types and the architecture check.
#pragma once

#include <cuda/std/cstdint>

#define HG_PTX_INLINE __device__ __forceinline__

// HG_PTX_SM_xx(name, asm volatile(...)) emits the asm statement if the target has the instruction. If not, it drops the
// asm and calls a function that has no body anywhere, so that ptxas or nvlink stops with one error only: "Unresolved
// extern function hg_ptx_<name>_requires_sm_xx". (In the host pass of nvcc __CUDA_ARCH__ is undefined. That pass parses
// device functions but emits none.)
#define HG_PTX_UNSUPPORTED(function)   \
  do {                                 \
    extern __device__ void function(); \
    function();                        \
  } while (false)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
#define HG_PTX_SM_75(name, ...) __VA_ARGS__
#else
#define HG_PTX_SM_75(name, ...) HG_PTX_UNSUPPORTED(hg_ptx_##name##_requires_sm_75)
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HG_PTX_SM_80(name, ...) __VA_ARGS__
#else
#define HG_PTX_SM_80(name, ...) HG_PTX_UNSUPPORTED(hg_ptx_##name##_requires_sm_80)
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HG_PTX_SM_90(name, ...) __VA_ARGS__
#else
#define HG_PTX_SM_90(name, ...) HG_PTX_UNSUPPORTED(hg_ptx_##name##_requires_sm_90)
#endif

// sm_90a: the trailing "a" means features of this architecture alone, which compute_90 does not have. (No later target
// has wgmma. Later "a" targets have setmaxnreg again, but this project builds nothing for them.)
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HG_PTX_SM_90A(name, ...) __VA_ARGS__
#else
#define HG_PTX_SM_90A(name, ...) HG_PTX_UNSUPPORTED(hg_ptx_##name##_requires_sm_90a)
#endif

namespace hopper_gemm {
namespace ptx {

using cuda::std::int32_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uint64_t;

}  // namespace ptx
}  // namespace hopper_gemm
