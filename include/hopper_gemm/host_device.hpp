#pragma once

/// Marks a function that host and device code may call. Expands to nothing for a compiler without CUDA.
#ifdef __CUDACC__
#define HG_HOST_DEVICE __host__ __device__
#else
#define HG_HOST_DEVICE
#endif
