#pragma once

// Without nvcc, these two headers define their functions as static and not inline. GCC compiles all of those, called or
// not, where it does not optimise, and a mutant of a small kernel takes twice as long to compile. It leaves out what is
// not called if these functions are optimised and -ftoplevel-reorder is set.
#pragma GCC push_options
#pragma GCC optimize("O1")
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#pragma GCC pop_options
