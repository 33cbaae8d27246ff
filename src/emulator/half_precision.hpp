#pragma once

// Without nvcc, these two headers define their functions as static and not inline. GCC compiles all of those, called or
// not, unless it optimises them, which takes a third of the time that a mutant of a small kernel takes.
#pragma GCC push_options
#pragma GCC optimize("O1")
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#pragma GCC pop_options
