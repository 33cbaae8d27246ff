#pragma once

#ifndef __CUDACC_RTC__
#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"
#endif

namespace hopper_gemm {

/// What a matrix is filled with.
enum class DataKind {
  Normal,    ///< N(0, 1), rounded to the matrix's type
  Uniform,   ///< uniform in (-1, 1], rounded likewise
  Integers,  ///< -1, 0 and 1, sparse enough that a dot product of two rows stays below 256, see
             ///< integer_density
};

#ifndef __CUDACC_RTC__
/// The probability that an element of DataKind::Integers with rows of `k` elements is not zero.
///
/// k: the terms of a dot product, at least 1. The dot product of two such rows has mean 0 and standard
/// deviation density * sqrt(k), which this keeps at 24 or below: ten of them are less than 256, up to which
/// bf16 holds every integer. Results are exact, so that one wrong or missing product among k shows as a
/// different number.
double integer_density(std::int64_t k);

/// Fills row-major `data` [rows, cols], rows `ld` elements apart, from `seed` and each element's position;
/// the padding between cols and ld becomes NaN, so that a kernel that reads it shows. Enqueued on `stream`.
///
/// `density`: of DataKind::Integers, see integer_density.
Status fill_matrix(void* data, DataType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                   DataKind kind, double density, std::uint64_t seed, cudaStream_t stream);
#endif

}  // namespace hopper_gemm
