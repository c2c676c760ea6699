// Which accesses of which programs are ordered by synchronisation within a launch (happens-before).
//
// A program's run is cut into segments at its releases. A release of a location appends the program's segment
// to the location's log; an acquire of the location makes everything logged so far precede what the program
// does next. A location's log never ends: a value that is read is taken to come from all releases before it.
// Segments are the names that shadow cells keep; without a tracker program p has the one segment p + 1 and
// nothing is ordered. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tritogen::tile {

class SyncTracker {
 public:
  uint32_t NewSegment(uint32_t program);
  uint32_t ProgramOf(uint32_t segment);

  void Acquire(uint32_t program, uint64_t location);
  // Ends `segment` of the program with a release of the location; returns the next segment.
  uint32_t Release(uint32_t program, uint32_t segment, uint64_t location);

  // Does everything that was done in `segment` (of another program) precede what `program` does now?
  bool Precedes(uint32_t segment, uint32_t program);

 private:
  struct Acquired {
    uint64_t location;
    size_t length;  // how much of the location's log
  };
  using AcquiredList = std::vector<Acquired>;
  struct Release_ {
    uint32_t program, segment;
    std::shared_ptr<const AcquiredList> before;  // what the program had acquired by then; null: nothing
  };
  struct Location {
    std::vector<Release_> log;
    std::unordered_map<uint32_t, std::vector<size_t>> by_program;  // positions in the log
  };
  struct Program {
    std::shared_ptr<AcquiredList> acquired;
    std::unordered_map<uint32_t, uint32_t> known;  // program → last segment of it that is known to precede
  };

  bool LogHolds(const Location& location, size_t length, uint32_t program, uint32_t segment) const;

  std::mutex mutex_;
  std::vector<uint32_t> program_of_{0};  // by segment
  std::unordered_map<uint64_t, Location> locations_;
  std::unordered_map<uint32_t, Program> programs_;
};

}  // namespace tritogen::tile
