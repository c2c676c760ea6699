#include "tile/lane_order.h"

#include <bit>
#include <cstring>

#include "tile/fault.h"

namespace tritogen::tile {
namespace {

// A scalar is written by the first thread and read by all, what is the same in all lanes is written and read
// by all. Neither is blamed on the other: what threads other than the first read in vain is seldom used.
constexpr Lane kScalar = 1, kUniform = 2;
constexpr Lane kMany = 3;           // several lanes, of atomics
constexpr Lane kAtomic = 1u << 31;  // written atomically
constexpr int kLaneBits = 20;       // a tile has at most 2^20 lanes

bool SameThread(Lane written, Lane lane) {
  written &= ~kAtomic;
  return written == lane || written == kUniform || (written == kScalar && lane < kMany);
}

}  // namespace

Lane FirstLane(const Type& type, bool uniform) {
  if (!type.is_tensor() || type.numel() == 1) return kScalar;
  if (uniform) return kUniform;
  return static_cast<Lane>(std::countr_zero(static_cast<uint64_t>(type.numel())) + 1) << kLaneBits;
}

bool IsOneThread(Lane first) {
  return first <= kScalar;
}

Lane LaneOf(Lane first, size_t i) {
  return first > kMany ? first + static_cast<Lane>(i) : first;
}

LaneShadow::LaneShadow(size_t bytes, int granule_shift, bool blame)
    : shift_(granule_shift), blame_(blame), writes_((bytes >> granule_shift) + 1), before_(bytes) {}

bool LaneShadow::IsFresh(const Cell& cell, const Access& access) {
  return cell.stamp == access.context.stamp && cell.lane != 0;
}

void LaneShadow::Keep(size_t granule, const std::byte* old_bytes) {
  std::memcpy(&before_[granule << shift_], old_bytes, size_t{1} << shift_);
}

void LaneShadow::Blame(const Access& access, size_t granule, FaultKind kind, std::string_view verb) const {
  const auto offset = static_cast<int64_t>(granule << shift_);
  Fail(access.context, access.instruction, kind, verb,
       fmt::format("offset {} of '{}', which another lane of the program has written with no barrier between "
                   "(tl.debug_barrier())",
                   offset, access.buffer),
       access.buffer, offset);
}

void LaneShadow::Read(const Access& access, Lane first, size_t width, std::byte* out) const {
  for (size_t g = access.begin; g < access.end; ++g) {
    const Cell& written = writes_[g];
    if (!IsFresh(written, access) || SameThread(written.lane, LaneOf(first, (g - access.begin) / width)))
      continue;
    if (blame_) Blame(access, g, FaultKind::kReadWriteRace, "load");
    std::memcpy(out + ((g - access.begin) << shift_), &before_[g << shift_], size_t{1} << shift_);
  }
}

std::optional<size_t> LaneShadow::Write(const Access& access, Lane first, size_t width,
                                        const std::byte* old_bytes, const std::byte* new_bytes) {
  const size_t bytes = size_t{1} << shift_;
  std::optional<size_t> race;
  for (size_t g = access.begin; g < access.end; ++g, old_bytes += bytes, new_bytes += bytes) {
    const Lane lane = LaneOf(first, (g - access.begin) / width);
    Cell& written = writes_[g];
    const bool fresh = IsFresh(written, access);
    if (std::memcmp(old_bytes, new_bytes, bytes) == 0) {
      if (fresh && !SameThread(written.lane, lane)) written.lane = kUniform;  // whoever comes first
      continue;
    }
    const bool before = fresh && written.step != access.context.steps;
    if (before && !SameThread(written.lane, lane) && !race) race = g;
    if (!fresh) Keep(g, old_bytes);
    written = {access.context.stamp, lane, access.context.steps};
  }
  return race;
}

void LaneShadow::Atomic(const Access& access, Lane first, size_t width, const std::byte* old_bytes) {
  for (size_t g = access.begin; g < access.end; ++g, old_bytes += size_t{1} << shift_) {
    const Lane lane = LaneOf(first, (g - access.begin) / width);
    Cell& written = writes_[g];
    const bool fresh = IsFresh(written, access), same = fresh && SameThread(written.lane, lane);
    if (fresh && !same && (written.lane & kAtomic) == 0) Blame(access, g, FaultKind::kWriteRace, "atomic");
    if (!fresh) Keep(g, old_bytes);
    written = {access.context.stamp, kAtomic | (fresh && !same ? kMany : lane), access.context.steps};
  }
}

}  // namespace tritogen::tile
