// TMA: copies between global and shared memory that go on without a thread.

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/smem_descriptor.hpp"
#include "emulator/launch.hpp"
#include "emulator/machine.hpp"
#include "emulator/number_formats.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr std::uint64_t kMapMagic = 0x48475F544D415001;  // marks a map of the emulated driver
constexpr int kMaxRank = 5;

// The contents of a CUtensorMap of the emulated driver.
struct EncodedMap {
  std::uint64_t magic;
  unsigned char* base;
  std::array<std::uint64_t, kMaxRank> extents;
  std::array<std::uint64_t, kMaxRank> strides_bytes;  // [0] is not used
  std::array<std::uint16_t, kMaxRank> box;
  std::uint8_t rank;
  std::uint8_t type;  // CUtensorMapDataType
  std::uint8_t swizzle;
  std::uint8_t nan_fill;
};
static_assert(sizeof(EncodedMap) <= sizeof(CUtensorMap));

/// The assertions of the manual of cuTensorMapEncodeTiled, as a formula.
bool follows_the_manual(cuuint32_t rank, std::uint64_t element_bytes, const cuuint64_t* extents,
                        const cuuint64_t* strides_bytes) {
  if (rank < 2) return true;
  if (strides_bytes[0] < extents[0] * element_bytes) return false;
  for (cuuint32_t i = 1; i + 1 < rank; ++i) {
    if (strides_bytes[i] % strides_bytes[i - 1] != 0) return false;
    if (strides_bytes[i] < extents[i] * strides_bytes[i - 1]) return false;
  }
  return true;
}

CUresult encode(CUtensorMap* tensor_map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                const cuuint64_t* extents, const cuuint64_t* strides_bytes, const cuuint32_t* box,
                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                CUtensorMapFloatOOBfill oob_fill) {
  const std::uint64_t element_bytes = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4 : 2;
  if (configured().strict_tensor_maps && !follows_the_manual(rank, element_bytes, extents, strides_bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  EncodedMap map{};
  map.magic = kMapMagic;
  map.base = static_cast<unsigned char*>(base);
  map.rank = static_cast<std::uint8_t>(rank);
  map.type = static_cast<std::uint8_t>(type);
  map.swizzle = static_cast<std::uint8_t>(swizzle);
  map.nan_fill = oob_fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? 0 : 1;
  for (std::size_t i = 0; i < rank; ++i) {
    map.extents[i] = extents[i];
    map.box[i] = static_cast<std::uint16_t>(box[i]);
    if (i + 1 < rank) map.strides_bytes[i + 1] = strides_bytes[i];
  }
  std::memcpy(tensor_map, &map, sizeof(map));
  return CUDA_SUCCESS;
}

CUresult replace_address(CUtensorMap* tensor_map, void* base) {
  EncodedMap map{};
  std::memcpy(&map, tensor_map, sizeof(map));
  if (map.magic != kMapMagic) return CUDA_ERROR_INVALID_VALUE;
  map.base = static_cast<unsigned char*>(base);
  std::memcpy(tensor_map, &map, sizeof(map));
  return CUDA_SUCCESS;
}

std::uint32_t element_bytes(const EncodedMap& map) {
  return map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4 : 2;
}

Swizzle swizzle_of(const EncodedMap& map) {
  switch (map.swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B: return Swizzle::B32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return Swizzle::B64;
    case CU_TENSOR_MAP_SWIZZLE_128B: return Swizzle::B128;
    default: return Swizzle::None;
  }
}

EncodedMap decode(const void* tensor_map, int rank) {
  if (reinterpret_cast<std::uintptr_t>(tensor_map) % 64 != 0)
    machine.fail("a tensor map that is not 64-byte aligned");
  EncodedMap map{};
  std::memcpy(&map, tensor_map, sizeof(map));
  if (map.magic != kMapMagic) machine.fail("the address of a tensor map that no encoder has written");
  if (rank != 0 && map.rank != rank) {
    machine.fail(fmt::format("a copy with {} coordinates by a tensor map of rank {}", rank, map.rank));
  }
  return map;
}

/// A box of a tensor, row by row: rows run along the fastest dimension.
class Box {
 public:
  Box(const EncodedMap& map, const std::int32_t* coords) : map_(map) {
    std::copy(coords, coords + map.rank, coords_.begin());
    rows_ = 1;
    for (std::size_t i = 1; i < map.rank; ++i) rows_ *= map.box[i];
    row_bytes_ = map.box[0] * element_bytes(map);
  }

  std::uint32_t rows() const { return rows_; }
  std::uint32_t row_bytes() const { return row_bytes_; }
  std::uint32_t bytes() const { return rows_ * row_bytes_; }

  /// Row `row` in global memory, from its coordinate 0 on; null if it lies outside of the tensor.
  unsigned char* row_base(std::uint32_t row) const {
    unsigned char* address = map_.base;
    for (std::size_t i = 1; i < map_.rank; ++i) {
      const std::int64_t coord = std::int64_t{coords_[i]} + row % map_.box[i];
      row /= map_.box[i];
      if (coord < 0 || coord >= static_cast<std::int64_t>(map_.extents[i])) return nullptr;
      address += coord * static_cast<std::int64_t>(map_.strides_bytes[i]);
    }
    return address;
  }
  std::int64_t first_byte() const { return std::int64_t{coords_[0]} * element_bytes(map_); }
  std::int64_t extent_bytes() const {
    return static_cast<std::int64_t>(map_.extents[0]) * element_bytes(map_);
  }
  /// The row's place in the tensor, as a number. The next row along the second dimension has the next number.
  std::int32_t tensor_row(std::uint32_t row) const {
    return map_.rank < 2 ? 0 : coords_[1] + static_cast<std::int32_t>(row);
  }
  std::uint32_t shared_address(std::uint32_t base, std::uint32_t row, std::uint32_t byte) const {
    return swizzle_offset(base + row * row_bytes_ + byte, swizzle_of(map_));
  }
  /// A part of a row in global memory; none if bytes is 0.
  struct RowBytes {
    unsigned char* begin;
    std::size_t bytes;
  };
  RowBytes bytes_inside(std::uint32_t row) const { return row_bytes_until(row, extent_bytes()); }
  /// As seen on an H200, TMA writes whole chunks of 16 bytes. If a row ends within one, it overwrites what lies behind.
  RowBytes bytes_to_write(std::uint32_t row) const {
    return row_bytes_until(row, (extent_bytes() + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes);
  }
  /// Calls visit(address) for each 16 bytes of the box that lies at `base`, row by row.
  template <typename Visit>
  void for_each_chunk(std::uint32_t base, Visit visit) const {
    for (std::uint32_t row = 0; row < rows_; ++row) {
      for (std::uint32_t byte = 0; byte < row_bytes_; byte += kGranuleBytes)
        visit(shared_address(base, row, byte));
    }
  }
  const EncodedMap& map() const { return map_; }

 private:
  RowBytes row_bytes_until(std::uint32_t row, std::int64_t extent) const {
    unsigned char* const base = row_base(row);
    const std::int64_t begin = std::max<std::int64_t>(first_byte(), 0);
    const std::int64_t end = std::min(first_byte() + row_bytes(), extent);
    if (base == nullptr || end <= begin) return {nullptr, 0};
    return {base + begin, static_cast<std::size_t>(end - begin)};
  }

  EncodedMap map_;
  std::array<std::int32_t, kMaxRank> coords_{};
  std::uint32_t rows_ = 0;
  std::uint32_t row_bytes_ = 0;
};

void fill_outside(const EncodedMap& map, unsigned char* bytes, std::uint32_t count) {
  if (map.nan_fill == 0) {
    std::memset(bytes, 0, count);
    return;
  }
  for (std::uint32_t i = 0; i < count; i += element_bytes(map)) {
    if (map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32) {
      const std::uint32_t nan = 0x7FFFFFFF;
      std::memcpy(bytes + i, &nan, sizeof(nan));
    } else {
      const std::uint16_t nan = 0x7FFF;
      std::memcpy(bytes + i, &nan, sizeof(nan));
    }
  }
}

/// Some rows of a box on their way into one CTA.
class LoadRows : public AsyncWork {
 public:
  LoadRows(const Box& box, Cta* cta, std::uint32_t address, std::uint32_t barrier, std::uint32_t copy,
           std::uint32_t first, std::uint32_t last)
      : box_(box),
        cta_(cta),
        address_(address),
        barrier_(barrier),
        copy_(copy),
        first_(first),
        last_(last),
        issued_at_(machine.now()) {}

  bool step() override {
    const auto [filler, fill_clock] = next_fill(cta_, barrier_);
    const Event event{cta_->cluster->number, filler, fill_clock};
    for (std::uint32_t row = first_; row < last_; ++row) load(row, event);
    --cta_->copies_in_flight;
    if (Trace* const trace = machine.trace()) {
      trace->add(
          {issued_at_, machine.now(), cta_->launch->ordinal, cta_->index.x, "TMA loads",
           fmt::format("load to {:#x}", address_),
           fmt::format("rows {} to {}, {} bytes", first_, last_ - 1, (last_ - first_) * box_.row_bytes()),
           true});
    }
    mbarrier_complete(cta_, barrier_, std::int64_t{last_ - first_} * box_.row_bytes());
    return true;
  }

 private:
  void load(std::uint32_t row, const Event& event) {
    const unsigned char* const source = box_.row_base(row);
    const auto [inside, inside_bytes] = box_.bytes_inside(row);
    if (inside_bytes > 0) {
      check_global(inside, inside_bytes, "a TMA load reads");
      global_order.record_tma_load(inside, inside_bytes, event, pc());
    }
    for (std::uint32_t byte = 0; byte < box_.row_bytes(); byte += kGranuleBytes) {
      const std::int64_t begin = box_.first_byte() + byte;
      const std::int64_t from = std::max<std::int64_t>(begin, 0);
      const std::int64_t to =
          source == nullptr ? from : std::min<std::int64_t>(begin + kGranuleBytes, box_.extent_bytes());
      const std::uint32_t destination = box_.shared_address(address_, row, byte);
      unsigned char* const chunk = cta_->shared + (destination - kSharedWindow);
      if (to - from < kGranuleBytes) fill_outside(box_.map(), chunk, kGranuleBytes);
      if (to > from) std::memcpy(chunk + (from - begin), source + from, static_cast<std::size_t>(to - from));
      forget_uses(cta_, granule_of(destination), kAllWords);
      Granule& granule = cta_->granules[granule_of(destination)];
      --granule.copies;
      granule.defined = true;
      granule.filler = event.component;
      granule.fill_clock = event.clock;
      granule.copy = copy_;
      granule.row = box_.tensor_row(row);
      granule.chunk = static_cast<std::int32_t>(begin / kGranuleBytes);
    }
  }

  Box box_;
  Cta* cta_;
  std::uint32_t address_;
  std::uint32_t barrier_;
  std::uint32_t copy_;
  std::uint32_t first_;
  std::uint32_t last_;
  std::uint64_t issued_at_;
};

void check_first_coordinate(const EncodedMap& map, std::int32_t coordinate, const char* what) {
  if (coordinate * static_cast<std::int64_t>(element_bytes(map)) % kGranuleBytes != 0) {
    machine.fail(fmt::format("{} coordinate {}, which is not a multiple of 16 bytes", what, coordinate));
  }
}

void check_box(const Box& box, std::uint32_t address, const char* what) {
  const Swizzle swizzle = swizzle_of(box.map());
  const auto alignment = static_cast<std::uint32_t>(swizzle_alignment_bytes(swizzle));
  if (address % alignment != 0) {
    machine.fail(
        fmt::format("{} at shared address {:#x}, which is not {}-byte aligned", what, address, alignment));
  }
}

void load_in_pieces(const Box& box, Cta* cta, std::uint32_t address, std::uint32_t barrier,
                    std::uint32_t copy) {
  box.for_each_chunk(address, [cta](std::uint32_t chunk) {
    const std::uint32_t granule = granule_of(chunk);
    check_async_write(cta, granule);
    ++cta->granules[granule].copies;
  });
  constexpr std::uint32_t kMaxPieces = 4;
  const std::uint32_t pieces = std::min(1 + machine.random().below(kMaxPieces), box.rows());
  for (std::uint32_t i = 0; i < pieces; ++i) {
    ++cta->copies_in_flight;
    machine.add(std::make_unique<LoadRows>(box, cta, address, barrier, copy, box.rows() * i / pieces,
                                           box.rows() * (i + 1) / pieces));
  }
}

/// The granules that `box` covers at `address`, marked as being read by `store`.
void mark_store(const Box& box, std::uint32_t address, BulkStore* store) {
  box.for_each_chunk(address, [store](std::uint32_t chunk) {
    const std::uint32_t granule = granule_of(chunk);
    check_async_read(store->cta, granule, "a TMA store reads");
    ++store->cta->granules[granule].stores;
    store->granules.push_back(granule);
  });
}

template <typename T, typename FromBits, typename ToBits>
void reduce_elements(Reduction reduction, unsigned char* destination, const unsigned char* source,
                     std::size_t bytes, FromBits from_bits, ToBits to_bits) {
  for (std::size_t i = 0; i < bytes; i += sizeof(T)) {
    T old_bits{};
    T new_bits{};
    std::memcpy(&old_bits, destination + i, sizeof(T));
    std::memcpy(&new_bits, source + i, sizeof(T));
    const float x = from_bits(old_bits);
    const float y = from_bits(new_bits);
    const float result = reduction == Reduction::Add   ? x + y
                         : reduction == Reduction::Min ? std::fmin(x, y)
                                                       : std::fmax(x, y);
    const T result_bits = to_bits(result);
    std::memcpy(destination + i, &result_bits, sizeof(T));
  }
}

void write_global(const EncodedMap& map, Reduction reduction, unsigned char* destination,
                  const unsigned char* source, std::size_t bytes) {
  check_global(destination, bytes, "a TMA store writes");
  if (reduction == Reduction::None) {
    std::memcpy(destination, source, bytes);
  } else if (map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32) {
    reduce_elements<float>(
        reduction, destination, source, bytes, [](float x) { return x; }, [](float x) { return x; });
  } else if (map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16) {
    reduce_elements<std::uint16_t>(reduction, destination, source, bytes, half_to_float, float_to_half);
  } else {
    reduce_elements<std::uint16_t>(reduction, destination, source, bytes, bf16_to_float, float_to_bf16);
  }
}

/// A box on its way out: first its source is read, then its destination written.
class StoreBox : public AsyncWork {
 public:
  StoreBox(const Box& box, std::uint32_t address, Reduction reduction, std::shared_ptr<BulkStore> store,
           WaitList* waiting)
      : box_(box),
        address_(address),
        reduction_(reduction),
        store_(std::move(store)),
        waiting_(waiting),
        issued_at_(machine.now()) {}

  bool step() override {
    if (!store_->read) {
      bytes_.resize(box_.bytes());
      unsigned char* next = bytes_.data();
      box_.for_each_chunk(address_, [&](std::uint32_t chunk) {
        std::memcpy(next, store_->cta->shared + (chunk - kSharedWindow), kGranuleBytes);
        next += kGranuleBytes;
      });
      store_->read = true;
      machine.wake(waiting_);
      return false;
    }
    for (std::uint32_t row = 0; row < box_.rows(); ++row) write(row);
    store_->written = true;
    global_order.note_landed(store_->number);
    if (Trace* const trace = machine.trace()) {
      trace->add({issued_at_, machine.now(), store_->cta->launch->ordinal, store_->cta->index.x, "TMA stores",
                  fmt::format("store from {:#x}", address_), fmt::format("{} bytes", box_.bytes()), true});
    }
    machine.wake(waiting_);
    return true;
  }

 private:
  void write(std::uint32_t row) {
    const auto [destination, bytes] = box_.bytes_to_write(row);
    if (bytes == 0) return;
    const unsigned char* const source = bytes_.data() + std::size_t{row} * box_.row_bytes();
    if (reduction_ == Reduction::None) global_order.land(store_->number, destination, source, bytes);
    write_global(box_.map(), reduction_, destination, source, bytes);
  }

  Box box_;
  std::uint32_t address_;
  Reduction reduction_;
  std::shared_ptr<BulkStore> store_;
  WaitList* waiting_;
  std::uint64_t issued_at_;
  std::vector<unsigned char> bytes_;
};

// A plain range of bytes is a tensor of one dimension.
EncodedMap map_of_bytes(void* base, std::uint32_t bytes) {
  EncodedMap map{};
  map.magic = kMapMagic;
  map.base = static_cast<unsigned char*>(base);
  map.rank = 1;
  map.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  map.extents[0] = bytes / element_bytes(map);
  map.box[0] = static_cast<std::uint16_t>(map.extents[0]);
  return map;
}

void check_bulk_bytes(std::uint32_t bytes, const void* global) {
  if (bytes == 0 || bytes % kGranuleBytes != 0) {
    machine.fail(fmt::format("a bulk copy of {} bytes, which are not a multiple of 16", bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(global) % kGranuleBytes != 0) {
    machine.fail("a bulk copy whose global address is not 16-byte aligned");
  }
}

void note_global(const Box& box, GlobalUse use, std::uint32_t store) {
  for (std::uint32_t row = 0; row < box.rows(); ++row) {
    const auto [begin, bytes] = use == GlobalUse::TmaLoad ? box.bytes_inside(row) : box.bytes_to_write(row);
    if (bytes > 0) global_order.access(begin, bytes, use, store);
  }
}

void load(const Box& box, std::uint32_t destination, std::uint32_t barrier, std::uint32_t cta_mask) {
  const Cluster& cluster = *current->cta->cluster;
  current->loaded = true;
  if (cta_mask == 0 || cta_mask >> cluster.ctas.size() != 0) {
    machine.fail(fmt::format("a multicast to CTAs {:#b} of a cluster of {}", cta_mask, cluster.ctas.size()));
  }
  const SharedPlace place = place_of(destination, box.bytes(), "a TMA load");
  const SharedPlace barrier_place = place_of(barrier, 8, "the mbarrier of a TMA load");
  check_box(box, place.address, "a TMA load");
  const std::uint32_t copy = machine.next_copy();
  note_global(box, GlobalUse::TmaLoad, 0);
  for (const auto& cta : cluster.ctas) {
    if ((cta_mask >> cta->rank & 1) == 0) continue;
    if (cta->live == 0) machine.fail(fmt::format("a multicast to CTA {}, which has ended", cta->index.x));
    check_mbarrier_for_async(cta.get(), barrier_place.address, "a TMA copy completes");
    load_in_pieces(box, cta.get(), place.address, barrier_place.address, copy);
  }
}

// The threads that wait for stores of this thread: itself, or none.
WaitList* store_waiters(Thread* thread) { return &thread->store_waiters; }

void store(const Box& box, std::uint32_t source, Reduction reduction) {
  const SharedPlace place = place_of(source, box.bytes(), "a TMA store");
  check_box(box, place.address, "a TMA store");
  auto bulk = std::make_shared<BulkStore>();
  bulk->cta = place.cta;
  bulk->number = global_order.new_store();
  mark_store(box, place.address, bulk.get());
  note_global(box, reduction == Reduction::None ? GlobalUse::TmaStore : GlobalUse::TmaReduction,
              bulk->number);
  current->open_stores.push_back(bulk);
  place.cta->unread_stores.push_back(bulk);
  machine.add(std::make_unique<StoreBox>(box, place.address, reduction, bulk, store_waiters(current)));
}

// The current thread has waited for their reads.
void release_stores(BulkGroup* group) {
  if (group->released) return;
  group->released = true;
  for (const auto& store : group->stores) {
    for (const std::uint32_t index : store->granules) {
      Granule& granule = store->cta->granules[index];
      --granule.stores;
      granule.store_waiter = current;
      granule.store_clock = current->clock[current->component];
    }
    std::erase(store->cta->unread_stores, store);
  }
}

}  // namespace

void tma_load(std::uint32_t destination, const void* tensor_map, const std::int32_t* coords, int rank,
              std::uint32_t barrier, std::uint32_t cta_mask) {
  HG_ENTER();
  const EncodedMap map = decode(tensor_map, rank);
  check_first_coordinate(map, coords[0], "a TMA load from");
  load(Box(map, coords), destination, barrier, cta_mask);
}

void tma_store(const void* tensor_map, const std::int32_t* coords, int rank, std::uint32_t source,
               Reduction reduction) {
  HG_ENTER();
  const EncodedMap map = decode(tensor_map, rank);
  check_first_coordinate(map, coords[0], "a TMA store to");
  for (int i = 0; i < rank; ++i) {
    if (coords[i] < 0) machine.fail(fmt::format("a TMA store to the negative coordinate {}", coords[i]));
  }
  store(Box(map, coords), source, reduction);
}

void tma_prefetch(const void* tensor_map, const std::int32_t* coords, int rank) {
  HG_ENTER();
  check_first_coordinate(decode(tensor_map, rank), coords[0], "a TMA prefetch from");
}

void check_tensor_map(const void* tensor_map) {
  HG_ENTER();
  decode(tensor_map, 0);
}

void bulk_load(std::uint32_t destination, const void* source, std::uint32_t bytes, std::uint32_t barrier) {
  HG_ENTER();
  check_bulk_bytes(bytes, source);
  const std::int32_t origin = 0;
  load(Box(map_of_bytes(const_cast<void*>(source), bytes), &origin), destination, barrier,
       1U << current->cta->rank);
}

void bulk_store(void* destination, std::uint32_t source, std::uint32_t bytes) {
  HG_ENTER();
  check_bulk_bytes(bytes, destination);
  const std::int32_t origin = 0;
  store(Box(map_of_bytes(destination, bytes), &origin), source, Reduction::None);
}

void bulk_commit_group() {
  HG_ENTER();
  current->groups.push_back({std::move(current->open_stores), false});
  current->open_stores.clear();
}

void bulk_wait_group(int pending_groups, bool only_read) {
  HG_ENTER();
  const std::size_t size = current->groups.size();
  const std::size_t covered = size - std::min(size, static_cast<std::size_t>(pending_groups));
  for (std::size_t i = 0; i < covered; ++i) {
    const auto finished = [only_read](const std::shared_ptr<BulkStore>& store) {
      return only_read ? store->read : store->written;
    };
    const auto& stores = current->groups[i].stores;
    while (!std::all_of(stores.begin(), stores.end(), finished)) {
      machine.block(store_waiters(current), only_read ? "the reads of its bulk stores" : "its bulk stores");
    }
    release_stores(&current->groups[i]);
    if (only_read) continue;
    for (const auto& store : stores) global_order.settle(store->number);
  }
  // A wait for reads keeps groups, because a later wait for their writes must find them.
  if (!only_read)
    current->groups.erase(current->groups.begin(),
                          current->groups.begin() + static_cast<std::ptrdiff_t>(covered));
}

void* tensor_map_function(const char* name) {
  if (std::string_view(name) == "cuTensorMapEncodeTiled") return reinterpret_cast<void*>(encode);
  if (std::string_view(name) == "cuTensorMapReplaceAddress") return reinterpret_cast<void*>(replace_address);
  return nullptr;
}

}  // namespace hopper_gemm::emulator
