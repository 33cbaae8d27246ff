#pragma once

/// Marks a function that both sides may call; nothing for a compiler that knows no CUDA.
#ifdef __CUDACC__
#define HG_HOST_DEVICE __host__ __device__
#else
#define HG_HOST_DEVICE
#endif
