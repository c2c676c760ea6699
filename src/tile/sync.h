// Which accesses of which programs are ordered by synchronisation within a launch (happens-before).
//
// A program's run is cut into segments at its releases. A release of a location appends the program's segment
// to the location's log; an acquire of the location makes everything logged so far precede what the program
// does next. A location's log never ends: a value that is read is taken to come from all releases before it.
// A release is one thread's. What a program of several warps does in tiles has segments of its own, from one
// barrier to the next, and a release speaks for those that a barrier ended.
// Segments are the names that shadow cells keep; without a tracker program p has the one segment p + 1 and
// nothing is ordered. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tile/program.h"

namespace tritogen::tile {

// Who does what a segment stands for.
enum class Threads : uint8_t { kFirst, kAll };

class SyncTracker {
 public:
  uint32_t NewSegment(uint32_t program, Threads threads);
  uint32_t ProgramOf(uint32_t segment);

  void Acquire(uint32_t program, uint64_t location);
  // Ends the segments with a release of the location by the program's first thread; returns the next ones.
  Segments Release(uint32_t program, const Segments& done, uint64_t location);

  // Does everything that was done in `segment` (of another program) precede what `program` does now?
  bool Precedes(uint32_t segment, uint32_t program);
  // It does not; would it if barriers stood before all releases?
  bool LacksBarrier(uint32_t segment, uint32_t program);

 private:
  struct Acquired {
    uint64_t location;
    size_t length;  // how much of the location's log
  };
  using AcquiredList = std::vector<Acquired>;
  struct Release_ {
    uint32_t program;
    Segments done;
    std::shared_ptr<const AcquiredList> before;  // what the program had acquired by then; null: nothing
  };
  struct Location {
    std::vector<Release_> log;
    std::unordered_map<uint32_t, std::vector<size_t>> by_program;  // positions in the log
  };
  struct Program {
    std::shared_ptr<AcquiredList> acquired;
    std::unordered_map<uint32_t, uint32_t> known;  // chain → last segment of it that is known to precede
  };

  // Which of a release's segments says whether it comes behind another one.
  using End = uint32_t Segments::*;
  // The last segment before the first of the program's releases that comes behind `segment`; 0: there is
  // none.
  uint32_t FindInLog(const Location& location, size_t length, uint32_t program, uint32_t segment,
                     End end) const;
  // The same of a release that `program` has acquired, or that came before one.
  uint32_t FindAcquired(const Program& program, uint32_t other, uint32_t segment, End end);

  std::mutex mutex_;
  std::vector<uint32_t> chain_of_{0};  // by segment: twice its program, and one if all threads are meant
  std::unordered_map<uint64_t, Location> locations_;
  std::unordered_map<uint32_t, Program> programs_;
};

}  // namespace tritogen::tile
