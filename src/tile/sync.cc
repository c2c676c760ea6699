#include "tile/sync.h"

#include <algorithm>

#include "tile/checker.h"
#include "tile/tile.h"

namespace tritogen::tile {

uint32_t SyncTracker::NewSegment(uint32_t program, Threads threads) {
  std::lock_guard lock(mutex_);
  // Past the last name programs keep their segment: later accesses count as earlier ones, nothing honest is
  // blamed.
  if (chain_of_.size() >= kMaxSegments) return kMaxSegments - 1;
  chain_of_.push_back(2 * program + (threads == Threads::kAll ? 1 : 0));
  return static_cast<uint32_t>(chain_of_.size() - 1);
}

uint32_t SyncTracker::ProgramOf(uint32_t segment) {
  std::lock_guard lock(mutex_);
  return chain_of_[segment] / 2;
}

void SyncTracker::Acquire(uint32_t program, uint64_t location) {
  std::lock_guard lock(mutex_);
  const auto it = locations_.find(location);
  if (it == locations_.end()) return;
  const size_t length = it->second.log.size();
  auto& acquired = programs_[program].acquired;
  if (acquired) {
    const auto same = std::find_if(acquired->begin(), acquired->end(),
                                   [&](const Acquired& a) { return a.location == location; });
    if (same != acquired->end() && same->length == length) return;
  }
  // Releases share the list: never change one that somebody else holds.
  if (!acquired) acquired = std::make_shared<AcquiredList>();
  if (acquired.use_count() > 1) acquired = std::make_shared<AcquiredList>(*acquired);
  const auto same = std::find_if(acquired->begin(), acquired->end(),
                                 [&](const Acquired& a) { return a.location == location; });
  if (same != acquired->end()) {
    same->length = length;
  } else {
    acquired->push_back({location, length});
  }
}

Segments SyncTracker::Release(uint32_t program, const Segments& done, uint64_t location) {
  {
    std::lock_guard lock(mutex_);
    Location& at = locations_[location];
    at.by_program[program].push_back(at.log.size());
    at.log.push_back({program, done, programs_[program].acquired});
  }
  const bool met = done.tiles == done.met;
  return {.first = NewSegment(program, Threads::kFirst),
          .tiles = met ? done.tiles : NewSegment(program, Threads::kAll),
          .met = done.met};
}

uint32_t SyncTracker::FindInLog(const Location& location, size_t length, uint32_t program, uint32_t segment,
                                End end) const {
  const auto it = location.by_program.find(program);
  if (it == location.by_program.end()) return 0;
  // Positions and segments both grow: the first release at or after `segment` decides.
  const auto first = std::partition_point(it->second.begin(), it->second.end(), [&](size_t position) {
    return location.log[position].done.*end < segment;
  });
  return first != it->second.end() && *first < length ? location.log[*first].done.*end : 0;
}

uint32_t SyncTracker::FindAcquired(const Program& program, uint32_t other, uint32_t segment, End end) {
  if (!program.acquired) return 0;
  // Breadth first over what was acquired, and what the releasers had acquired before.
  std::unordered_map<uint64_t, size_t> seen;  // location → length of the log that was looked at
  AcquiredList queue = *program.acquired;
  for (size_t next = 0; next < queue.size(); ++next) {
    const auto [location, length] = queue[next];
    size_t& looked_at = seen[location];
    if (looked_at >= length) continue;
    const Location& at = locations_[location];
    if (const uint32_t found = FindInLog(at, length, other, segment, end)) return found;
    for (size_t i = looked_at; i < length; ++i) {
      if (at.log[i].before) queue.insert(queue.end(), at.log[i].before->begin(), at.log[i].before->end());
    }
    looked_at = length;
  }
  return 0;
}

bool SyncTracker::Precedes(uint32_t segment, uint32_t program) {
  std::lock_guard lock(mutex_);
  const uint32_t chain = chain_of_[segment];
  Program& self = programs_[program];
  const auto known = self.known.find(chain);
  if (known != self.known.end() && known->second >= segment) return true;
  const End end = chain % 2 == 1 ? &Segments::met : &Segments::first;
  const uint32_t found = FindAcquired(self, chain / 2, segment, end);
  if (found == 0) return false;
  self.known[chain] = found;
  return true;
}

bool SyncTracker::LacksBarrier(uint32_t segment, uint32_t program) {
  std::lock_guard lock(mutex_);
  const uint32_t chain = chain_of_[segment];
  return chain % 2 == 1 && FindAcquired(programs_[program], chain / 2, segment, &Segments::tiles) != 0;
}

}  // namespace tritogen::tile
