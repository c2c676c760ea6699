#include "tile/checker.h"

#include <cstring>

#include "tile/fault.h"
#include "tile/lanes/memory.h"
#include "tile/machine.h"
#include "tile/sync.h"

namespace tritogen::tile {

Shadow::Shadow(size_t bytes, int granule_shift, bool reads, bool atomics, SyncTracker* tracker)
    : shift_(granule_shift), tracker_(tracker), writers_((bytes >> granule_shift) + 1) {
  const size_t granules = (bytes >> granule_shift) + 1;
  if (reads) readers_ = std::make_unique<Cells>(granules);
  if (atomics) atomics_ = std::make_unique<Cells>(granules);
}

uint32_t Shadow::ProgramOf(uint32_t cell) const {
  const uint32_t segment = cell & kSegment;
  return tracker_ == nullptr ? segment - 1 : tracker_->ProgramOf(segment);
}

Shadow::Relation Shadow::RelationOf(uint32_t cell, const Access& access) const {
  if (cell == 0) return Relation::kNone;
  const uint32_t segment = cell & kSegment;
  if (segment == access.segment) return Relation::kSelf;
  if (tracker_ == nullptr) return Relation::kUnordered;
  const uint32_t program = access.context.program;
  if (tracker_->ProgramOf(segment) == program) return Relation::kSelf;
  return tracker_->Precedes(segment, program) ? Relation::kOrdered : Relation::kUnordered;
}

// What a program that looks ordered lacks.
std::string_view Shadow::Advice(const Access& access, uint32_t cell) const {
  if (tracker_ != nullptr && tracker_->LacksBarrier(cell & kSegment, access.context.program)) {
    return ": when one thread of it releases, the others need not be there yet (put tl.debug_barrier() "
           "before that atomic)";
  }
  const Executable& kernel = access.context.launch->kernel();
  if (!kernel.spins || !kernel.volatile_loads) return "";
  return " (volatile loads and stores with '.wt' order nothing: tl.atomic_xchg() behind a tl.debug_barrier() "
         "releases, tl.atomic_add() of 0 acquires)";
}

void Shadow::Conflict(const Access& access, size_t granule, uint32_t cell, FaultKind kind,
                      std::string_view verb, std::string_view what) const {
  const uint32_t program = ProgramOf(cell);
  const auto id = access.context.launch->ProgramId(program);
  const std::string other = program == access.context.program
                                ? std::string("another program")
                                : fmt::format("program ({},{},{})", id[0], id[1], id[2]);
  const int64_t offset = static_cast<int64_t>(granule << shift_);
  Fail(access.context, access.instruction, kind, verb,
       fmt::format("offset {} of '{}', which {} {} without synchronisation{}", offset, access.buffer, other,
                   what, Advice(access, cell)),
       access.buffer, offset);
}

void Shadow::CheckOthers(const Access& access, const uint32_t* cells, FaultKind kind, std::string_view verb,
                         std::string_view what) const {
  uint32_t good = 0;
  for (size_t g = access.begin; g < access.end; ++g) {
    g += lanes::Memory().prefix32(cells + g, good, access.end - g);
    if (g == access.end) return;
    const uint32_t cell = cells[g];
    const Relation relation = RelationOf(cell, access);
    // Where nothing is ordered, "many" says that somebody else was there too.
    const bool others = relation == Relation::kUnordered || (tracker_ == nullptr && (cell & kMany) != 0);
    if (others) Conflict(access, g, cell, kind, verb, what);
    good = cell;
  }
}

void Shadow::Mark(const Access& access, uint32_t* cells) const {
  const uint32_t segment = access.segment;
  const size_t count = access.end - access.begin;
  if (lanes::Memory().prefix32(cells + access.begin, 0, count) == count) {
    lanes::Memory().fill(&segment, sizeof(segment), cells + access.begin, count);
    return;
  }
  uint32_t last = 0, becomes = segment;
  for (size_t g = access.begin; g < access.end; ++g) {
    const uint32_t cell = cells[g];
    if (cell == segment) continue;
    if (cell != last) {
      const bool unordered = RelationOf(cell, access) == Relation::kUnordered;
      becomes = segment | (unordered ? kMany : cell & kMany);
      last = cell;
    }
    cells[g] = cell == 0 ? segment : becomes;
  }
}

void Shadow::Read(const Access& access) {
  CheckOthers(access, writers_.get(), FaultKind::kReadWriteRace, "load", "writes");
  if (atomics_) CheckOthers(access, atomics_->get(), FaultKind::kReadWriteRace, "load", "changes atomically");
  if (readers_) Mark(access, readers_->get());
}

void Shadow::Write(const Access& access, const std::byte* old_bytes, const std::byte* new_bytes) {
  if (readers_) CheckOthers(access, readers_->get(), FaultKind::kReadWriteRace, "store", "reads");
  if (atomics_) CheckOthers(access, atomics_->get(), FaultKind::kWriteRace, "store", "changes atomically");
  uint32_t* const cells = writers_.get();
  const uint32_t segment = access.segment;
  const size_t count = access.end - access.begin, granule = size_t{1} << shift_;
  if (lanes::Memory().prefix32(cells + access.begin, 0, count) == count) {
    lanes::Memory().fill(&segment, sizeof(segment), cells + access.begin, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    uint32_t& cell = cells[access.begin + i];
    const bool same = std::memcmp(old_bytes + i * granule, new_bytes + i * granule, granule) == 0;
    switch (RelationOf(cell, access)) {
      case Relation::kNone:
      case Relation::kOrdered:
        cell = segment;
        break;
      case Relation::kSelf:
        if (!same && (cell & kMany) != 0) {
          Conflict(access, access.begin + i, cell, FaultKind::kWriteRace, "store",
                   "writes with another value");
        }
        cell = segment | (cell & ~kSegment) | (same ? 0 : kVaried);
        break;
      case Relation::kUnordered:
        if (!same || (cell & kVaried) != 0) {
          Conflict(access, access.begin + i, cell, FaultKind::kWriteRace, "store",
                   "writes with another value");
        }
        cell = segment | kMany;
        break;
    }
  }
}

void Shadow::Atomic(const Access& access) {
  CheckOthers(access, writers_.get(), FaultKind::kWriteRace, "atomic", "writes without an atomic");
  if (readers_)
    CheckOthers(access, readers_->get(), FaultKind::kReadWriteRace, "atomic", "reads without an atomic");
  Mark(access, atomics_->get());
}

void Shadow::AtomicInCta(const Access& access) {
  constexpr std::string_view kVerb = "atomic of scope 'cta'";
  CheckOthers(access, writers_.get(), FaultKind::kWriteRace, kVerb, "writes");
  if (readers_) CheckOthers(access, readers_->get(), FaultKind::kReadWriteRace, kVerb, "reads");
  CheckOthers(access, atomics_->get(), FaultKind::kWriteRace, kVerb, "changes atomically");
  if (readers_) Mark(access, readers_->get());
  Mark(access, writers_.get());
}

void Shadow::AtomicRead(const Access& access) {
  CheckOthers(access, writers_.get(), FaultKind::kReadWriteRace, "load", "writes without an atomic");
}

}  // namespace tritogen::tile
