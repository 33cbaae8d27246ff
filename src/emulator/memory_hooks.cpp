// Sees every load and store of the kernels: the emulated sources are compiled with -fsanitize=thread,alignment, which
// calls one of these functions before each access, and another one before each access that is misaligned for its type.
// The sanitizers themselves are not linked.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {
namespace {

enum class Access { Read, Write };

/// The CTA of the current thread's cluster in whose shared memory `pointer` points, or null.
Cta* shared_owner(const void* pointer) {
  const auto* const byte = static_cast<const unsigned char*>(pointer);
  for (const auto& cta : current->cta->cluster->ctas) {
    if (byte >= cta->shared && byte < cta->shared + (256U << 10)) return cta.get();
  }
  return nullptr;
}

void check_shared_bounds(const Cta& cta, const void* pointer, std::size_t bytes) {
  if (cta.live == 0) {
    machine.fail(fmt::format("{} bytes of shared memory of CTA {}, which has ended", bytes, cta.index.x));
  }
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - cta.shared);
  if (offset + bytes > cta.launch->shared_bytes) {
    machine.fail(fmt::format("{} bytes at shared address {:#x}, behind the {} bytes of dynamic shared memory",
                             bytes, kSharedWindow + offset, cta.launch->shared_bytes));
  }
}

// The CTA and the granules of an access, with a bit for each word that it touches.
template <typename Check>
void for_each_granule(const void* pointer, std::size_t bytes, Check check) {
  Cta* const cta = shared_owner(pointer);
  check_shared_bounds(*cta, pointer, bytes);
  const auto begin = static_cast<std::uint32_t>(static_cast<const unsigned char*>(pointer) - cta->shared);
  const std::uint32_t last_word = (begin + static_cast<std::uint32_t>(bytes) - 1) / kWordBytes;
  for (std::uint32_t word = begin / kWordBytes; word <= last_word;) {
    const std::uint32_t index = word / kWordsPerGranule;
    std::uint32_t words = 0;
    for (; word <= last_word && word / kWordsPerGranule == index; ++word)
      words |= 1U << word % kWordsPerGranule;
    check(cta, index, words);
  }
}

void check_registers(const void* pointer, std::size_t bytes, Access kind, const void* pc) {
  for (const BusyRegisters& busy : current->busy) {
    if (!overlap(pointer, bytes, busy.registers, busy.bytes)) continue;
    current->pc = pc;
    machine.fail(kind == Access::Read
                     ? "an accumulator is read before wgmma.wait_group says that it is finished"
                     : "an accumulator is written while a wgmma still works on it");
  }
  if (kind == Access::Write) {
    for (const BusyOperand& busy : current->busy_operands) {
      if (!overlap(pointer, bytes, busy.registers, kFragmentBytes)) continue;
      current->pc = pc;
      machine.fail("a fragment of A is overwritten while a wgmma may still read its registers");
    }
  }
}

void access(const void* pointer, std::size_t bytes, Access kind, const void* pc) {
  if (current == nullptr) return;
  global_order.check_last_store();
  const bool is_on_stack = pointer >= current->stack && pointer < current->stack + kStackBytes;
  if (!is_on_stack && shared_owner(pointer) != nullptr) {
    machine.enter(pc);
    if (kind == Access::Read) note_shared_read(pointer, bytes);
    if (kind == Access::Write) note_shared_write(pointer, bytes);
    return;
  }
  check_registers(pointer, bytes, kind, pc);
  if (!is_on_stack && device_heap.contains(pointer)) {
    current->pc = pc;
    check_global(pointer, bytes, kind == Access::Read ? "the kernel reads" : "the kernel writes");
    if (kind == Access::Write) machine.note_progress();
    global_order.access(pointer, bytes, kind == Access::Read ? GlobalUse::Load : GlobalUse::Store);
  }
}

/// What the compiler says about an access that -fsanitize=alignment has found. GCC and clang have the same layout.
struct AccessedType {
  std::uint16_t kind;
  std::uint16_t info;
  char name[1];  ///< in quotes; longer than this
};
struct MisalignedAccess {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
  const AccessedType* type;
  std::uint8_t log_alignment;
  std::uint8_t kind;
};

void report_misaligned(const MisalignedAccess& misaligned, const void* pointer, const void* pc) {
  if (current == nullptr) return;
  current->pc = pc;
  const Cta* const owner = shared_owner(pointer);
  const std::string place =
      owner == nullptr
          ? fmt::format("{}", pointer)
          : fmt::format("shared address {:#x}",
                        kSharedWindow + (static_cast<const unsigned char*>(pointer) - owner->shared));
  machine.fail(fmt::format("an access to a {} at {}, which is not {}-byte aligned",
                           static_cast<const char*>(misaligned.type->name), place,
                           1U << misaligned.log_alignment));
}

}  // namespace

void note_shared_read(const void* pointer, std::size_t bytes) {
  for_each_granule(pointer, bytes, [](Cta* cta, std::uint32_t index, std::uint32_t words) {
    const Granule& granule = cta->granules[index];
    const std::uint32_t address = kSharedWindow + index * kGranuleBytes;
    if (granule.copies > 0) {
      machine.fail(
          fmt::format("a thread reads shared memory at {:#x} that a TMA copy is still filling", address));
    }
    check_not_filling(granule, index, words, "a thread reads");
    if (!granule.defined) {
      machine.fail(fmt::format("a thread reads shared memory at {:#x} that nobody has written", address));
    }
    check_writes_are_known(cta, index, words, "a thread reads");
    cta->granules[index].generic_uses().read({current, current->clock[current->component], words});
  });
}

void note_shared_write(const void* pointer, std::size_t bytes) {
  machine.note_progress();
  const std::uint64_t step = machine.tick();
  const auto own = static_cast<std::uint32_t>(current->component);
  for_each_granule(pointer, bytes, [step, own](Cta* cta, std::uint32_t index, std::uint32_t words) {
    Granule& granule = cta->granules[index];
    check_generic_write(cta, index, words, "a thread writes");
    forget_uses(cta, index, words);
    granule.generic_uses().write({current, step, own, current->clock[own], WriteKind::Store, words});
    granule.copy = 0;
    granule.defined = true;
  });
}

}  // namespace hopper_gemm::emulator

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the compiler's

#define HG_ACCESS(name, bytes, kind)                                                   \
  void name(void* pointer) {                                                           \
    hopper_gemm::emulator::access(pointer, bytes, hopper_gemm::emulator::Access::kind, \
                                  __builtin_return_address(0));                        \
  }

#pragma GCC visibility push(default)
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
HG_ACCESS(__tsan_read1, 1, Read)
HG_ACCESS(__tsan_read2, 2, Read)
HG_ACCESS(__tsan_read4, 4, Read)
HG_ACCESS(__tsan_read8, 8, Read)
HG_ACCESS(__tsan_read16, 16, Read)
HG_ACCESS(__tsan_unaligned_read2, 2, Read)
HG_ACCESS(__tsan_unaligned_read4, 4, Read)
HG_ACCESS(__tsan_unaligned_read8, 8, Read)
HG_ACCESS(__tsan_unaligned_read16, 16, Read)
HG_ACCESS(__tsan_write1, 1, Write)
HG_ACCESS(__tsan_write2, 2, Write)
HG_ACCESS(__tsan_write4, 4, Write)
HG_ACCESS(__tsan_write8, 8, Write)
HG_ACCESS(__tsan_write16, 16, Write)
HG_ACCESS(__tsan_unaligned_write2, 2, Write)
HG_ACCESS(__tsan_unaligned_write4, 4, Write)
HG_ACCESS(__tsan_unaligned_write8, 8, Write)
HG_ACCESS(__tsan_unaligned_write16, 16, Write)
HG_ACCESS(__tsan_vptr_read, 8, Read)
void __tsan_vptr_update(void**, void*) {}
void __tsan_read_range(void* pointer, unsigned long bytes) {
  hopper_gemm::emulator::access(pointer, bytes, hopper_gemm::emulator::Access::Read,
                                __builtin_return_address(0));
}
void __tsan_write_range(void* pointer, unsigned long bytes) {
  hopper_gemm::emulator::access(pointer, bytes, hopper_gemm::emulator::Access::Write,
                                __builtin_return_address(0));
}
void __ubsan_handle_type_mismatch_v1(void* access, void* pointer) {
  hopper_gemm::emulator::report_misaligned(*static_cast<hopper_gemm::emulator::MisalignedAccess*>(access),
                                           pointer, __builtin_return_address(0));
}
// The host's code in a kernel's file uses these atomics, for std::shared_ptr and the like. Kernels have no atomics. The
// first reads the guard of a function's static variable.
std::uint8_t __tsan_atomic8_load(const volatile void* flag, int) {
  return __atomic_load_n(static_cast<const volatile std::uint8_t*>(flag), __ATOMIC_ACQUIRE);
}
std::int32_t __tsan_atomic32_fetch_add(volatile void* counter, std::int32_t value, int) {
  return __atomic_fetch_add(static_cast<volatile std::int32_t*>(counter), value, __ATOMIC_SEQ_CST);
}
std::int32_t __tsan_atomic32_fetch_sub(volatile void* counter, std::int32_t value, int) {
  return __atomic_fetch_sub(static_cast<volatile std::int32_t*>(counter), value, __ATOMIC_SEQ_CST);
}
}
#pragma GCC visibility pop

#undef HG_ACCESS

// NOLINTEND(bugprone-reserved-identifier)
