// Shadow memory of one buffer that a launch writes and accesses in several places: which lane of a program
// wrote each granule since the program's threads last met, and what was there before. A GPU spreads the lanes
// of a tile over threads, which nothing but a barrier orders; the tile machine runs one instruction after the
// other, so that what a kernel without its barrier reads would always be there. docs/tile_machine.md has the
// rules. Not thread-safe: the caller holds the lock of the granules' stripes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tile/checker.h"
#include "tile/ir.h"

namespace tritogen::tile {

// Lanes of equal tiles with equal numbers are taken to lie in one thread. 0: nobody, or an access that is not
// asked about.
using Lane = uint32_t;
// What lane 0 of an access of this type is called; `uniform`: it stands for all.
Lane FirstLane(const Type& type, bool uniform);
// Is it one thread's, or of an access that is not asked about?
bool IsOneThread(Lane first);
// The lane of element `i` of an access.
Lane LaneOf(Lane first, size_t i);

class LaneShadow {
 public:
  // `blame`: who reads what another lane has just written fails; else it gets what was there before.
  LaneShadow(size_t bytes, int granule_shift, bool blame);

  // Elements of `width` granules each, one behind the other, by lanes from `first` on. `out`: what memory
  // holds, of which the lanes get what they may as well find. Writes that change no bit are nobody's.
  void Read(const Access& access, Lane first, size_t width, std::byte* out) const;
  // The first granule where another lane of the program wrote another value, which is a kWriteRace: to be
  // blamed when lanes of the one store, which are not asked about here, are found to agree. `old_bytes`: what
  // memory holds.
  std::optional<size_t> Write(const Access& access, Lane first, size_t width, const std::byte* old_bytes,
                              const std::byte* new_bytes);
  // Fails where another lane wrote it, but for atomics among themselves.
  void Atomic(const Access& access, Lane first, size_t width, const std::byte* old_bytes);
  [[noreturn]] void Blame(const Access& access, size_t granule, FaultKind kind, std::string_view verb) const;

 private:
  struct Cell {
    uint32_t stamp;  // Context::stamp
    Lane lane;
    uint32_t step;  // Context::steps
  };
  // Some lane has written the granule since the threads of this program last met.
  static bool IsFresh(const Cell& cell, const Access& access);
  void Keep(size_t granule, const std::byte* old_bytes);

  int shift_;
  bool blame_;
  Zeroed<Cell> writes_;
  Zeroed<std::byte> before_;
};

}  // namespace tritogen::tile
