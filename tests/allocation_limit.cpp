#include "tests/allocation_limit.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr int kUnlimited = -1;
thread_local int allocations_left = kUnlimited;
thread_local bool limit_was_reached = false;

void count_allocation() {
  if (allocations_left == kUnlimited) return;
  if (allocations_left == 0) {
    limit_was_reached = true;
    throw std::bad_alloc();
  }
  --allocations_left;
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc, misc-new-delete-overloads): these are operator new.
void* operator new(std::size_t bytes) {
  count_allocation();
  return checked(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_allocation();
  const auto multiple = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc, misc-new-delete-overloads)

namespace hopper_gemm {

AllocationLimit::AllocationLimit(int allocations) {
  limit_was_reached = false;
  allocations_left = allocations;
}

AllocationLimit::~AllocationLimit() { allocations_left = kUnlimited; }

bool AllocationLimit::was_reached() const { return limit_was_reached; }

}  // namespace hopper_gemm
