// wgmma: what the threads of a warpgroup do together, and the engine that multiplies while they go on.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/smem_descriptor.hpp"
#include "emulator/machine.hpp"
#include "emulator/number_formats.hpp"
#include "emulator/widest_vectors.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr int kRows = 64;
constexpr int kDepth = 16;
constexpr float kPoison = std::bit_cast<float>(0x7FBADBADU);

const char* name_of(WarpgroupOperation::Kind kind) {
  switch (kind) {
    case WarpgroupOperation::Kind::Fence: return "wgmma.fence";
    case WarpgroupOperation::Kind::Mma: return "wgmma.mma_async";
    case WarpgroupOperation::Kind::Commit: return "wgmma.commit_group";
    case WarpgroupOperation::Kind::Wait: return "wgmma.wait_group";
    case WarpgroupOperation::Kind::SetMaxRegisters: return "setmaxnreg";
  }
  return "";
}

/// What a descriptor says (make_smem_desc).
struct Descriptor {
  std::uint32_t start;
  std::uint32_t leading;
  std::uint32_t stride;
  std::uint32_t base_offset;
  Swizzle swizzle;
};

Descriptor decode(std::uint64_t bits) {
  const auto field = [bits](int position) {
    return static_cast<std::uint32_t>(bits >> position & 0x3FFF) << 4;
  };
  constexpr Swizzle kModes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};
  return {field(0), field(16), field(32), static_cast<std::uint32_t>(bits >> 49 & 7), kModes[bits >> 62]};
}

/// Where 16 bytes of an operand lie: eight elements along the contiguous dimension. K-major: `line` is along M or N and
/// `chunk` along K; MN-major the other way round.
std::uint32_t chunk_address(const Descriptor& desc, bool mn_major, std::uint32_t line, std::uint32_t chunk) {
  if (desc.swizzle == Swizzle::None) {
    // Core matrices, 8 lines of 16 bytes.
    return mn_major ? desc.start + line / 8 * desc.leading + chunk * desc.stride + line % 8 * 16
                    : desc.start + line / 8 * desc.stride + chunk * desc.leading + line % 8 * 16;
  }
  const auto span = static_cast<std::uint32_t>(swizzle_span_bytes(desc.swizzle));
  const std::uint32_t chunks_of_span = span / kGranuleBytes;
  const std::uint32_t address = desc.start + line / 8 * desc.stride + line % 8 * span +
                                chunk / chunks_of_span * desc.leading +
                                chunk % chunks_of_span * kGranuleBytes;
  return swizzle_offset(address, desc.swizzle);
}

/// An operand [extent, 16] in shared memory.
struct Operand {
  const char* name;
  Descriptor desc;
  bool mn_major;
  std::uint32_t extent;

  std::uint32_t lines() const { return mn_major ? kDepth : extent; }
  std::uint32_t chunks() const { return mn_major ? extent / 8 : kDepth / 8; }
};

// Checks all granules that the operand reads, and adds them to the wgmma. Each granule that TMA wrote knows its row and
// column in the tensor. One step in the operand must be one step in the tensor.
void add_granules(const Operand& operand, Wgmma* wgmma) {
  Cta* const cta = current->cta;
  bool known = false;
  std::int32_t row = 0;
  std::int32_t column = 0;
  if (operand.desc.base_offset != 0) machine.fail("a descriptor with a base offset: it is not emulated");
  for (std::uint32_t line = 0; line < operand.lines(); ++line) {
    for (std::uint32_t chunk = 0; chunk < operand.chunks(); ++chunk) {
      const std::uint32_t address = chunk_address(operand.desc, operand.mn_major, line, chunk);
      place_of(address, kGranuleBytes, operand.name);
      const std::uint32_t index = granule_of(address);
      check_async_read(cta, index, operand.name);
      const Granule& granule = cta->granules[index];
      if (granule.copy != 0) {
        const std::int32_t this_row = granule.row - static_cast<std::int32_t>(line);
        const std::int32_t this_column = granule.chunk - static_cast<std::int32_t>(chunk);
        if (known && (this_row != row || this_column != column)) {
          machine.fail(
              fmt::format("{} a tile that its descriptor does not match: line {}, chunk {} of 16 bytes is at "
                          "{:#x}, where TMA put row {}, chunk {} of the tensor, not row {}, chunk {}",
                          operand.name, line, chunk, address, granule.row, granule.chunk,
                          row + static_cast<std::int32_t>(line), column + static_cast<std::int32_t>(chunk)));
        }
        known = true;
        row = this_row;
        column = this_column;
      }
      wgmma->granules.push_back(index);
    }
  }
}

void read_operand(const Cta& cta, const Operand& operand, bool half, int scale, float* elements) {
  for (std::uint32_t line = 0; line < operand.lines(); ++line) {
    for (std::uint32_t chunk = 0; chunk < operand.chunks(); ++chunk) {
      const std::uint32_t address = chunk_address(operand.desc, operand.mn_major, line, chunk);
      std::array<std::uint16_t, 8> bits{};
      std::memcpy(bits.data(), cta.shared + (address - kSharedWindow), sizeof(bits));
      for (std::uint32_t i = 0; i < 8; ++i) {
        const float value = half ? half_to_float(bits[i]) : bf16_to_float(bits[i]);
        const std::uint32_t m = operand.mn_major ? chunk * 8 + i : line;
        const std::uint32_t k = operand.mn_major ? line : chunk * 8 + i;
        elements[k * operand.extent + m] = static_cast<float>(scale) * value;
      }
    }
  }
}

Operand operand_a(const Wgmma& wgmma) {
  return {"wgmma's A reads", decode(wgmma.desc_a), wgmma.shape.a_is_mn_major, kRows};
}

Operand operand_b(const Wgmma& wgmma) {
  return {"wgmma's B reads", decode(wgmma.desc_b), wgmma.shape.b_is_mn_major,
          static_cast<std::uint32_t>(wgmma.shape.n)};
}

// PTX ISA "Register Fragments: wgmma.mma_async A", two elements a register.
void read_registers(const Wgmma& wgmma, float* elements) {
  for (std::size_t t = 0; t < kWarpgroupSize; ++t) {
    for (std::size_t r = 0; r < 4; ++r) {
      const std::size_t row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8;
      const std::size_t k = t % 4 * 2 + r / 2 * 8;
      for (std::size_t i = 0; i < 2; ++i) {
        const auto bits = static_cast<std::uint16_t>(wgmma.a[t][r] >> (16 * i));
        const float value = wgmma.shape.half ? half_to_float(bits) : bf16_to_float(bits);
        elements[(k + i) * kRows + row] = static_cast<float>(wgmma.shape.scale_a) * value;
      }
    }
  }
}

HG_WIDEST_VECTORS
void multiply(const float* a, const float* b, std::size_t n, bool accumulate, float* values) {
  for (std::size_t m = 0; m < kRows; ++m) {
    std::array<float, 256> sum{};
    for (std::size_t k = 0; k < kDepth; ++k) {
      const float factor = a[k * kRows + m];
      for (std::size_t j = 0; j < n; ++j) sum[j] += factor * b[k * n + j];
    }
    float* const row = values + m * n;
    for (std::size_t j = 0; j < n; ++j) row[j] = accumulate ? row[j] + sum[j] : sum[j];
  }
}

void multiply(const Cta& cta, const Wgmma& wgmma) {
  const auto n = static_cast<std::size_t>(wgmma.shape.n);
  std::array<float, kRows * kDepth> a{};
  std::array<float, 256 * kDepth> b{};
  if (wgmma.a_in_registers) {
    read_registers(wgmma, a.data());
  } else {
    read_operand(cta, operand_a(wgmma), wgmma.shape.half, wgmma.shape.scale_a, a.data());
  }
  read_operand(cta, operand_b(wgmma), wgmma.shape.half, wgmma.shape.scale_b, b.data());
  multiply(a.data(), b.data(), n, wgmma.accumulate, wgmma.accumulation->values.data());
}

/// Carries out a warpgroup's wgmmas, one a step, in order.
class Engine : public AsyncWork {
 public:
  explicit Engine(Warpgroup* warpgroup) : warpgroup_(warpgroup) {}

  bool step() override {
    const std::shared_ptr<Wgmma> wgmma = warpgroup_->issued.front();
    warpgroup_->issued.pop_front();
    multiply(*warpgroup_->cta, *wgmma);
    if (Trace* const trace = machine.trace()) {
      trace->add({last_end_, machine.now(), warpgroup_->cta->launch->ordinal, warpgroup_->cta->index.x,
                  fmt::format("wgmma of warpgroup {}", warpgroup_->number),
                  fmt::format("m64n{}k16", wgmma->shape.n), ""});
    }
    last_end_ = machine.now();
    machine.wake(&warpgroup_->waiting);
    warpgroup_->engine_active = !warpgroup_->issued.empty();
    return !warpgroup_->engine_active;
  }

 private:
  Warpgroup* warpgroup_;
  std::uint64_t last_end_ = machine.now();
};

// The register of the accumulator that holds D[row, column], PTX ISA "Register Fragments: wgmma.mma_async D".
template <typename Visit>
void for_each_register(const Thread& thread, int n, Visit visit) {
  const auto t = static_cast<std::size_t>(thread.number % kWarpgroupSize);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n) / 2; ++i) {
    const std::size_t row = t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8;
    const std::size_t column = i / 4 * 8 + t % 4 * 2 + i % 2;
    visit(i, row * static_cast<std::size_t>(n) + column);
  }
}

/// The current thread's next operation of its warpgroup. The first thread to come makes it, and the others check it.
WarpgroupOperation& join(WarpgroupOperation::Kind kind, int argument, bool increase) {
  Warpgroup& warpgroup = *current->warpgroup;
  const std::uint64_t number = current->next_operation++;
  if (number - warpgroup.log_base == warpgroup.log.size()) {
    WarpgroupOperation operation{};
    operation.kind = kind;
    operation.argument = argument;
    operation.increase = increase;
    operation.first_thread = current->number;
    operation.pc = current->pc;
    warpgroup.log.push_back(std::move(operation));
  }
  WarpgroupOperation& operation = warpgroup.log[number - warpgroup.log_base];
  if (operation.kind != kind || operation.argument != argument || operation.increase != increase) {
    machine.fail(fmt::format("the warpgroup has diverged: {} here, {} by thread {} at {}", name_of(kind),
                             name_of(operation.kind), operation.first_thread, where(operation.pc)));
  }
  ++operation.arrived;
  return operation;
}

// Drops operations in which all threads have taken part. Keeps the newest one, to which the caller may still refer.
void forget_finished(Warpgroup* warpgroup) {
  while (warpgroup->log.size() > 1 && warpgroup->log.front().arrived == kWarpgroupSize) {
    warpgroup->log.pop_front();
    ++warpgroup->log_base;
  }
}

void issue(Warpgroup* warpgroup, const std::shared_ptr<Wgmma>& wgmma) {
  for (const std::uint32_t index : wgmma->granules) {
    Granule& granule = warpgroup->cta->granules[index];
    ++granule.wgmmas;
    granule.wgmma_groups[static_cast<std::size_t>(warpgroup->number)] =
        static_cast<std::uint32_t>(wgmma->group + 1);
  }
  warpgroup->issued.push_back(wgmma);
  warpgroup->unretired.push_back(wgmma);
  if (warpgroup->engine_active) return;
  warpgroup->engine_active = true;
  machine.add(std::make_unique<Engine>(warpgroup));
}

void retire(Warpgroup* warpgroup, std::uint64_t end_group) {
  while (!warpgroup->unretired.empty() && warpgroup->unretired.front()->group < end_group) {
    for (const std::uint32_t granule : warpgroup->unretired.front()->granules) {
      --warpgroup->cta->granules[granule].wgmmas;
    }
    warpgroup->unretired.pop_front();
  }
}

BusyRegisters* find_busy(Thread* thread, const float* registers) {
  const auto found = std::find_if(thread->busy.begin(), thread->busy.end(),
                                  [&](const BusyRegisters& busy) { return busy.registers == registers; });
  return found == thread->busy.end() ? nullptr : &*found;
}

}  // namespace

void wgmma_fence() {
  HG_ENTER();
  join(WarpgroupOperation::Kind::Fence, 0, false);
  current->wgmma_fenced = true;
  forget_finished(current->warpgroup);
}

void wgmma_mma(const WgmmaShape& shape, float* accum, const std::uint32_t* a_registers, std::uint64_t desc_a,
               std::uint64_t desc_b, bool accumulate) {
  HG_ENTER();
  Warpgroup& warpgroup = *current->warpgroup;
  current->multiplied = true;
  WarpgroupOperation& operation = join(WarpgroupOperation::Kind::Mma, 0, false);
  BusyRegisters* busy = find_busy(current, accum);
  if (busy == nullptr && !current->wgmma_fenced) {
    machine.fail("wgmma on registers that the thread could use, without wgmma.fence since it last waited");
  }
  if (a_registers != nullptr && !current->wgmma_fenced) {
    machine.fail(
        "wgmma with A from registers that the thread could use, without wgmma.fence since it last waited");
  }
  if (operation.wgmma == nullptr) {
    operation.wgmma = std::make_shared<Wgmma>();
    Wgmma& wgmma = *operation.wgmma;
    wgmma.shape = shape;
    wgmma.desc_a = desc_a;
    wgmma.desc_b = desc_b;
    wgmma.accumulate = accumulate;
    wgmma.a_in_registers = a_registers != nullptr;
    wgmma.group = current->commits;
    if (wgmma.a_in_registers) wgmma.a.resize(kWarpgroupSize);
    if (busy != nullptr) {
      wgmma.accumulation = busy->accumulation;
    } else {
      wgmma.accumulation = std::make_shared<Accumulation>();
      wgmma.accumulation->n = shape.n;
      wgmma.accumulation->values.resize(std::size_t{kRows} * static_cast<std::size_t>(shape.n));
    }
  }
  Wgmma& wgmma = *operation.wgmma;
  if (wgmma.shape != shape || wgmma.desc_a != desc_a || wgmma.desc_b != desc_b ||
      wgmma.accumulate != accumulate) {
    machine.fail(fmt::format(
        "the threads of a warpgroup give one wgmma different operands: descriptors {:#x} and {:#x} "
        "here, {:#x} and {:#x} in thread {}",
        desc_a, desc_b, wgmma.desc_a, wgmma.desc_b, operation.first_thread));
  }
  if (busy == nullptr) {
    for_each_register(*current, shape.n, [&](std::size_t i, std::size_t element) {
      wgmma.accumulation->values[element] = accum[i];
      accum[i] = kPoison;
    });
    current->busy.push_back(
        {accum, static_cast<std::size_t>(shape.n) / 2 * sizeof(float), wgmma.accumulation, 0});
    busy = &current->busy.back();
    std::size_t registers = 0;
    for (const BusyRegisters& other : current->busy) registers += other.bytes / sizeof(float);
    if (registers > static_cast<std::size_t>(warpgroup.registers)) {
      machine.fail(
          fmt::format("accumulators take {} registers per thread, and setmaxnreg or the launch left {}",
                      registers, warpgroup.registers));
    }
  }
  if (busy->accumulation != wgmma.accumulation || busy->accumulation->n != shape.n) {
    machine.fail(
        "a wgmma on accumulators that an unfinished wgmma of another shape or other registers works on");
  }
  busy->last_group = current->commits;
  if (a_registers != nullptr) {
    std::copy(a_registers, a_registers + 4,
              wgmma.a[static_cast<std::size_t>(current->number % kWarpgroupSize)].begin());
    current->busy_operands.push_back({a_registers, current->commits});
  }
  if (operation.arrived < kWarpgroupSize) return;
  if (!wgmma.a_in_registers) add_granules(operand_a(wgmma), &wgmma);
  add_granules(operand_b(wgmma), &wgmma);
  issue(&warpgroup, operation.wgmma);
  forget_finished(&warpgroup);
}

void wgmma_commit() {
  HG_ENTER();
  join(WarpgroupOperation::Kind::Commit, 0, false);
  ++current->commits;
  forget_finished(current->warpgroup);
}

void wgmma_wait(int pending_groups) {
  HG_ENTER();
  Warpgroup& warpgroup = *current->warpgroup;
  join(WarpgroupOperation::Kind::Wait, pending_groups, false);
  const auto pending = static_cast<std::uint64_t>(pending_groups);
  const std::uint64_t end_group = current->commits > pending ? current->commits - pending : 0;
  const auto in_flight = [&] {
    // A wgmma that not all threads have issued yet stands only in the log.
    const bool issuing =
        std::any_of(warpgroup.log.begin(), warpgroup.log.end(), [&](const WarpgroupOperation& other) {
          return other.kind == WarpgroupOperation::Kind::Mma && other.arrived < kWarpgroupSize &&
                 other.wgmma->group < end_group;
        });
    return issuing || std::any_of(warpgroup.issued.begin(), warpgroup.issued.end(),
                                  [&](const auto& wgmma) { return wgmma->group < end_group; });
  };
  while (in_flight()) machine.block(&warpgroup.waiting, "wgmma.wait_group");
  retire(&warpgroup, end_group);
  current->clock.learn(warpgroup.component, static_cast<std::uint32_t>(end_group));
  std::erase_if(current->busy, [&](const BusyRegisters& busy) {
    if (busy.last_group >= end_group) return false;
    for_each_register(*current, busy.accumulation->n, [&](std::size_t i, std::size_t element) {
      busy.registers[i] = busy.accumulation->values[element];
    });
    return true;
  });
  std::erase_if(current->busy_operands,
                [end_group](const BusyOperand& busy) { return busy.last_group < end_group; });
  current->wgmma_fenced = false;
  forget_finished(&warpgroup);
}

void touch_registers(const void* registers, std::size_t bytes) {
  HG_ENTER();
  for (const BusyRegisters& busy : current->busy) {
    if (!overlap(registers, bytes, busy.registers, busy.bytes)) continue;
    machine.fail("wgmma_fence_operand of an accumulator that a wgmma still works on");
  }
  for (const BusyOperand& busy : current->busy_operands) {
    if (!overlap(registers, bytes, busy.registers, kFragmentBytes)) continue;
    machine.fail("wgmma_fence_operand of a fragment of A that a wgmma may still read");
  }
}

void set_max_registers(int registers, bool increase) {
  HG_ENTER();
  Warpgroup& warpgroup = *current->warpgroup;
  WarpgroupOperation& operation = join(WarpgroupOperation::Kind::SetMaxRegisters, registers, increase);
  const int change = registers - warpgroup.registers;
  if (operation.arrived == 1 && (increase ? change < 0 : change > 0)) {
    machine.fail(fmt::format("setmaxnreg.{} to {} registers from {}", increase ? "inc" : "dec", registers,
                             warpgroup.registers));
  }
  Cta& cta = *warpgroup.cta;
  if (operation.arrived < kWarpgroupSize) {
    // Wait until the last thread has come and has found the registers.
    while (warpgroup.registers != registers)
      machine.block(&warpgroup.waiting, "its warpgroup to take part in setmaxnreg");
    forget_finished(&warpgroup);
    return;
  }
  while (increase && cta.free_registers < change * kWarpgroupSize) {
    machine.block(&cta.waiting_for_registers, "registers that other warpgroups give back (setmaxnreg.inc)");
  }
  cta.free_registers -= change * kWarpgroupSize;
  warpgroup.registers = registers;
  machine.wake(&warpgroup.waiting);
  machine.wake(&cta.waiting_for_registers);
  forget_finished(&warpgroup);
}

}  // namespace hopper_gemm::emulator
