#pragma once

#ifndef __CUDACC_RTC__
#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"
#endif

namespace hopper_gemm {

/// The data with which a matrix is filled.
enum class DataKind {
  Normal,    ///< N(0, 1), rounded to the matrix's type
  Uniform,   ///< uniform in (-1, 1], rounded to the matrix's type
  Integers,  ///< -1, 0 and 1, sparse enough that a dot product of two rows stays below 256, see
             ///< integer_density()
};

#ifndef __CUDACC_RTC__
/// The probability that an element of DataKind::Integers with rows of `k` elements is not zero.
///
/// k: the terms of a dot product, at least 1. The dot product of two such rows has mean 0 and standard deviation
/// density * sqrt(k). The density keeps that at 24 or below. Ten standard deviations are then less than 256, up to
/// which bf16 holds every integer. Results are exact, so that one wrong or missing product among k gives a different
/// number.
double integer_density(std::int64_t k);

/// Enqueues on `stream`: fills row-major `data` [rows, cols], rows `ld` elements apart. An element depends on `seed`
/// and its position. The padding between cols and ld becomes NaN, so that the result of a kernel that reads it is
/// wrong.
///
/// density: of DataKind::Integers, see integer_density().
Status fill_matrix(void* data, DataType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                   DataKind kind, double density, std::uint64_t seed, cudaStream_t stream);
#endif

}  // namespace hopper_gemm
