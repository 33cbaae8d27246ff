#pragma once

namespace hopper_gemm {

/// While it lives, the memory of this thread's operator new runs out: after so many allocations it throws
/// std::bad_alloc.
class AllocationLimit {
 public:
  explicit AllocationLimit(int allocations);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  /// Whether there was one too many.
  bool was_reached() const;
};

}  // namespace hopper_gemm
