#include "tile/memory.h"

#include <algorithm>
#include <bit>
#include <thread>

#include "tile/fault.h"
#include "tile/machine.h"
#include "tile/sync.h"

namespace tritogen::tile {
namespace {

constexpr size_t kMinRun = 4;           // shorter runs are moved lane by lane
constexpr size_t kScatteredLanes = 64;  // lanes moved so before runs are looked for again

// Where an access that leaves its buffer lands, in words.
std::string DescribeMiss(int64_t offset, int size, int64_t bytes) {
  if (offset < 0) {
    if (-offset % size == 0)
      return fmt::format("{} element{} before the start", -offset / size, -offset == size ? "" : "s");
    return fmt::format("{} bytes before the start", -offset);
  }
  const int64_t past = offset + size - bytes;
  if (past == size) return "one element past the end";
  if (past % size == 0) return fmt::format("{} elements past the end", past / size);
  return fmt::format("{} bytes past the end", past);
}

Access AccessTo(Context& c, const Instruction& at, const LaunchBuffer& buffer, int64_t offset,
                int64_t bytes) {
  const int shift = buffer.shadow->granule_shift();
  return {.context = c,
          .instruction = at,
          .buffer = buffer.name,
          .segment = c.launch->SegmentOf(c, at),
          .begin = static_cast<size_t>(offset) >> shift,
          .end = static_cast<size_t>(offset + bytes) >> shift};
}

bool AsksForLanes(const LaunchBuffer& buffer, const Instruction& at) {
  return buffer.lanes != nullptr && at.first_lane != 0;
}

size_t Width(const LaunchBuffer& buffer, const Instruction& at) {
  return static_cast<size_t>(at.access_bytes) >> buffer.shadow->granule_shift();
}

}  // namespace

LaunchMemory::Guard::Guard(LaunchBuffer& buffer, int64_t begin, int64_t end) : locks_(buffer.locks.get()) {
  if (locks_ == nullptr) return;
  first_ = static_cast<int>(begin >> buffer.stripe_shift);
  last_ = static_cast<int>((end - 1) >> buffer.stripe_shift);
  for (int i = first_; i <= last_; ++i) {
    while ((*locks_)[i].test_and_set(std::memory_order_acquire)) {
      while ((*locks_)[i].test(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
}

LaunchMemory::Guard::~Guard() {
  if (locks_ == nullptr) return;
  for (int i = first_; i <= last_; ++i) (*locks_)[i].clear(std::memory_order_release);
}

LaunchMemory::LaunchMemory(std::span<Buffer> buffers, const std::vector<BufferUse>& uses, bool check,
                           LaneChecks lanes, bool parallel, SyncTracker* tracker) {
  buffers_.resize(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    LaunchBuffer& buffer = buffers_[i];
    const BufferUse& use = uses[i];
    buffer.data = buffers[i].data;
    buffer.bytes = static_cast<int64_t>(buffers[i].bytes);
    buffer.name = buffers[i].name;
    buffer.first = EncodePointer(static_cast<int>(i), 0);
    const bool used = use.read || use.write || use.atomic;
    if (check && used && buffers[i].defined != nullptr &&
        kernels_.prefix8(buffers[i].defined, 1, buffers[i].bytes) < buffers[i].bytes) {
      buffer.defined = buffers[i].defined;
    }
    const bool written = use.write || use.atomic;
    if (check && written) {
      const int shift = std::countr_zero(static_cast<unsigned>(use.granule));
      buffer.shadow =
          std::make_unique<Shadow>(buffers[i].bytes, shift, use.read || use.atomic, use.atomic, tracker);
      if (lanes != LaneChecks::kNone && use.accesses > 1)
        buffer.lanes = std::make_unique<LaneShadow>(buffers[i].bytes, shift, lanes == LaneChecks::kBlame);
    }
    if (parallel && written && (check || use.atomic)) {
      buffer.locks = std::make_unique<std::array<std::atomic_flag, kStripes>>();
      while ((std::max<int64_t>(buffer.bytes, 1) - 1) >> buffer.stripe_shift >= kStripes)
        ++buffer.stripe_shift;
    }
  }
}

LaunchBuffer* LaunchMemory::Find(const lanes::PointerRange& range, int size) {
  if ((range.low_bits & static_cast<uint64_t>(size - 1)) != 0) return nullptr;
  const int id = PointerBuffer(range.min);
  if (id < 0 || id >= static_cast<int>(buffers_.size())) return nullptr;
  LaunchBuffer& buffer = buffers_[id];
  const bool inside = range.min >= buffer.first && buffer.bytes >= size &&
                      range.max <= buffer.first + static_cast<uint64_t>(buffer.bytes - size);
  return inside ? &buffer : nullptr;
}

LaunchBuffer& LaunchMemory::FindLane(const Context& c, const Instruction& at, std::string_view verb,
                                     uint64_t pointer, int size) {
  LaunchBuffer* buffer = Find({pointer, pointer, 0}, size);
  if (buffer == nullptr) FailBounds(c, at, verb, pointer, size);
  const int64_t offset = PointerOffset(pointer);
  if (offset % size != 0) {
    Fail(c, at, FaultKind::kMisaligned, verb,
         fmt::format("{} bytes at offset {} of '{}', which is not a multiple of {}", size, offset,
                     buffer->name, size),
         buffer->name, offset);
  }
  return *buffer;
}

void LaunchMemory::FailBounds(const Context& c, const Instruction& at, std::string_view verb,
                              uint64_t pointer, int size) const {
  const int id = PointerBuffer(pointer);
  if (pointer == kWildPointer || id >= static_cast<int>(buffers_.size())) {
    Fail(c, at, FaultKind::kOutOfBounds, verb,
         fmt::format("{} bytes at an address far outside every buffer", size));
  }
  if (id < 0) {
    Fail(c, at, FaultKind::kOutOfBounds, verb,
         fmt::format("{} bytes at address {:#x}, which is null or a number that was never a pointer", size,
                     pointer));
  }
  const LaunchBuffer& buffer = buffers_[id];
  const int64_t offset = PointerOffset(pointer);
  Fail(c, at, FaultKind::kOutOfBounds, verb,
       fmt::format("{} bytes at offset {} of '{}' ({} bytes): {}", size, offset, buffer.name, buffer.bytes,
                   DescribeMiss(offset, size, buffer.bytes)),
       buffer.name, offset);
}

template <class Run, class Scattered, class Done>
void LaunchMemory::Visit(const Context& c, const Instruction& at, std::string_view verb, const uint64_t* p,
                         const uint8_t* mask, int size, size_t n, Run&& run, Scattered&& scattered,
                         Done&& done) {
  const lanes::PointerRange range = kernels_.range(p, mask, n);
  if (range.empty()) return;
  LaunchBuffer* const buffer = Find(range, size);
  if (buffer == nullptr) {  // a lane that fails, or lanes in several buffers
    for (size_t i = 0; i < n; ++i) {
      if (mask != nullptr && mask[i] == 0) continue;
      LaunchBuffer& own = FindLane(c, at, verb, p[i], size);
      const int64_t offset = PointerOffset(p[i]);
      const Guard guard(own, offset, offset + size);
      run(own, i, offset, size_t{1});
    }
    return done();
  }
  const int64_t begin = PointerOffset(range.min), end = PointerOffset(range.max) + size;
  const Guard guard(*buffer, begin, end);
  int runs = 0;
  for (size_t i = 0; i < n;) {
    size_t limit = n - i;
    if (mask != nullptr) {
      i += kernels_.prefix8(mask + i, 0, n - i);
      if (i == n) break;
      limit = kernels_.prefix8(mask + i, 1, n - i);
    }
    size_t count = kernels_.run(p + i, static_cast<uint64_t>(size), limit);
    if (count >= kMinRun || count == limit) {
      run(*buffer, i, PointerOffset(p[i]), count);
      ++runs;
    } else {
      count = std::min(limit, kScatteredLanes);
      scattered(*buffer, i, count);
      runs += static_cast<int>(count);
    }
    i += count;
  }
  if (runs > 1) done();
}

void LaunchMemory::CheckDefined(const Context& c, const Instruction& at, std::string_view verb,
                                LaunchBuffer& buffer, int64_t offset, int64_t bytes) {
  if (buffer.defined == nullptr) return;
  const size_t good = kernels_.prefix8(buffer.defined + offset, 1, static_cast<size_t>(bytes));
  if (good == static_cast<size_t>(bytes)) return;
  const int64_t where = offset + static_cast<int64_t>(good);
  Fail(c, at, FaultKind::kUndefinedRead, verb,
       fmt::format("offset {} of '{}', which nobody has written", where, buffer.name), buffer.name, where);
}

void LaunchMemory::CheckLoad(Context& c, const Instruction& at, LaunchBuffer& buffer, int64_t offset,
                             int64_t bytes) {
  CheckDefined(c, at, "load", buffer, offset, bytes);
  if (buffer.shadow != nullptr) buffer.shadow->Read(AccessTo(c, at, buffer, offset, bytes));
}

void LaunchMemory::CheckAtomic(Context& c, const Instruction& at, AtomicKind kind, LaunchBuffer& buffer,
                               size_t lane, int64_t offset, int64_t bytes) {
  CheckDefined(c, at, "atomic", buffer, offset, bytes);
  if (buffer.shadow == nullptr) return;
  const Access access = AccessTo(c, at, buffer, offset, bytes);
  if (AsksForLanes(buffer, at))
    buffer.lanes->Atomic(access, LaneOf(at.first_lane, lane), Width(buffer, at), buffer.data + offset);
  switch (kind) {
    case AtomicKind::kRead:
      return buffer.shadow->AtomicRead(access);
    case AtomicKind::kChange:
      return buffer.shadow->Atomic(access);
    case AtomicKind::kChangeInCta:
      return buffer.shadow->AtomicInCta(access);
  }
}

std::optional<size_t> LaunchMemory::CheckStore(Context& c, const Instruction& at, LaunchBuffer& buffer,
                                               size_t lane, int64_t offset, int64_t bytes,
                                               const std::byte* in) {
  std::optional<size_t> race;
  if (buffer.shadow != nullptr) {
    const Access access = AccessTo(c, at, buffer, offset, bytes);
    buffer.shadow->Write(access, buffer.data + offset, in);
    if (AsksForLanes(buffer, at)) {
      race = buffer.lanes->Write(access, LaneOf(at.first_lane, lane), Width(buffer, at), buffer.data + offset,
                                 in);
    }
  }
  if (buffer.defined != nullptr) std::memset(buffer.defined + offset, 1, static_cast<size_t>(bytes));
  return race;
}

void LaunchMemory::CheckKept(const Context& c, const Instruction& at, const uint64_t* p, const uint8_t* mask,
                             int size, const std::byte* in, size_t n) const {
  for (size_t i = 0, count; i < n; i += count) {
    size_t limit = n - i;
    if (mask != nullptr) {
      i += kernels_.prefix8(mask + i, 0, n - i);
      if (i == n) return;
      limit = kernels_.prefix8(mask + i, 1, n - i);
    }
    const LaunchBuffer& buffer = buffers_[PointerBuffer(p[i])];
    if (buffer.shadow == nullptr) return;  // nothing is checked
    count = kernels_.run(p + i, static_cast<uint64_t>(size), limit);
    const std::byte *kept = buffer.data + PointerOffset(p[i]), *given = in + i * size;
    if (std::memcmp(given, kept, count * size) == 0) continue;
    const size_t same = std::mismatch(given, given + count * size, kept).first - given;
    const int64_t offset = PointerOffset(p[i]) + static_cast<int64_t>(same / size * size);
    Fail(c, at, FaultKind::kWriteRace, "store",
         fmt::format("offset {} of '{}', where lanes of one store write different values", offset,
                     buffer.name),
         buffer.name, offset);
  }
}

void LaunchMemory::Load(Context& c, const Instruction& at, const uint64_t* p, const uint8_t* mask, int size,
                        std::byte* out, size_t n) {
  const auto as_lanes_may_find = [&](LaunchBuffer& buffer, size_t lane, int64_t offset, size_t count) {
    buffer.lanes->Read(AccessTo(c, at, buffer, offset, static_cast<int64_t>(count) * size),
                       LaneOf(at.first_lane, lane), Width(buffer, at), out + lane * size);
  };
  Visit(
      c, at, "load", p, mask, size, n,
      [&](LaunchBuffer& buffer, size_t lane, int64_t offset, size_t count) {
        CheckLoad(c, at, buffer, offset, static_cast<int64_t>(count) * size);
        std::memcpy(out + lane * size, buffer.data + offset, count * size);
        if (AsksForLanes(buffer, at)) as_lanes_may_find(buffer, lane, offset, count);
      },
      [&](LaunchBuffer& buffer, size_t lane, size_t count) {
        if (buffer.defined != nullptr || buffer.shadow != nullptr) {
          for (size_t i = lane; i < lane + count; ++i) CheckLoad(c, at, buffer, PointerOffset(p[i]), size);
        }
        kernels_.gather(buffer.data, buffer.first, p + lane, nullptr, size, out + lane * size, count);
        if (!AsksForLanes(buffer, at)) return;
        for (size_t i = lane; i < lane + count; ++i) as_lanes_may_find(buffer, i, PointerOffset(p[i]), 1);
      },
      [] {});
}

void LaunchMemory::Store(Context& c, const Instruction& at, const uint64_t* p, const uint8_t* mask, int size,
                         const std::byte* in, size_t n) {
  LaunchBuffer* raced = nullptr;
  size_t granule = 0;
  const auto check = [&](LaunchBuffer& buffer, size_t lane, int64_t offset, size_t count) {
    const auto race =
        CheckStore(c, at, buffer, lane, offset, static_cast<int64_t>(count) * size, in + lane * size);
    if (!race || raced != nullptr) return;
    raced = &buffer;
    granule = *race;
  };
  Visit(
      c, at, "store", p, mask, size, n,
      [&](LaunchBuffer& buffer, size_t lane, int64_t offset, size_t count) {
        check(buffer, lane, offset, count);
        std::memcpy(buffer.data + offset, in + lane * size, count * size);
      },
      [&](LaunchBuffer& buffer, size_t lane, size_t count) {
        if (buffer.defined == nullptr && buffer.shadow == nullptr) {
          kernels_.scatter(buffer.data, buffer.first, p + lane, nullptr, size, in + lane * size, count);
          return;
        }
        for (size_t i = lane; i < lane + count; ++i) {  // one by one: lanes may share a place
          const int64_t offset = PointerOffset(p[i]);
          check(buffer, i, offset, 1);
          std::memcpy(buffer.data + offset, in + i * size, size);
        }
      },
      [&] { CheckKept(c, at, p, mask, size, in, n); });
  if (raced != nullptr)
    raced->lanes->Blame({c, at, raced->name, 0, granule, granule + 1}, granule, FaultKind::kWriteRace,
                        "store");
}

void LaunchMemory::Atomic(Context& c, const Instruction& at, AtomicKind kind, const uint64_t* p,
                          const uint8_t* mask, int size, size_t n, const AtomicBody& body) {
  Visit(
      c, at, "atomic", p, mask, size, n,
      [&](LaunchBuffer& buffer, size_t lane, int64_t offset, size_t count) {
        CheckAtomic(c, at, kind, buffer, lane, offset, static_cast<int64_t>(count) * size);
        body(buffer.data + offset, lane, count);
      },
      [&](LaunchBuffer& buffer, size_t lane, size_t count) {
        for (size_t i = lane; i < lane + count; ++i) {
          const int64_t offset = PointerOffset(p[i]);
          CheckAtomic(c, at, kind, buffer, i, offset, size);
          body(buffer.data + offset, i, 1);
        }
      },
      [] {});
}

}  // namespace tritogen::tile
