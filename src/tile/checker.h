// Shadow memory of one buffer that a launch writes: which program wrote, read or atomically changed each
// granule (the smallest element that the kernel accesses in the buffer). A conflicting pair of accesses is
// seen at the later one, whatever the order of programs. docs/tile_machine.md has the rules. Not thread-safe:
// the caller holds the lock of the granules' stripes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "tile/program.h"
#include "tile/tile.h"

namespace tritogen::tile {

class SyncTracker;

inline constexpr uint32_t kMaxSegments = 1u << 30;

// Zeroed elements, paid for page by page as they are touched.
template <class T>
class Zeroed {
 public:
  explicit Zeroed(size_t count) : elements_(static_cast<T*>(std::calloc(count > 0 ? count : 1, sizeof(T)))) {
    if (!elements_) throw std::bad_alloc();
  }
  T* get() const { return elements_.get(); }
  T& operator[](size_t i) const { return elements_.get()[i]; }

 private:
  struct Free {
    void operator()(T* elements) const { std::free(elements); }
  };
  std::unique_ptr<T, Free> elements_;
};
using Cells = Zeroed<uint32_t>;

// The accessed granules, and for messages the instruction.
struct Access {
  const Context& context;
  const Instruction& instruction;
  const std::string& buffer;
  uint32_t segment;
  size_t begin, end;  // granules
};

class Shadow {
 public:
  // `tracker` may be null: no program is ordered before another.
  Shadow(size_t bytes, int granule_shift, bool reads, bool atomics, SyncTracker* tracker);

  // Each marks the access and throws FaultError when it conflicts with an earlier one of an unordered
  // program.
  void Read(const Access& access);
  void Write(const Access& access, const std::byte* old_bytes, const std::byte* new_bytes);
  void Atomic(const Access& access);
  // Atomic for other lanes; for other programs a load and a store.
  void AtomicInCta(const Access& access);
  // A volatile read. Leaves no mark: plain writes that come later are not blamed.
  void AtomicRead(const Access& access);

  int granule_shift() const { return shift_; }

 private:
  // A cell names the segment of the last access. kMany: earlier ones by programs not ordered before it are
  // not named. kVaried (writes): a program changed what it had written itself.
  static constexpr uint32_t kMany = 1u << 31, kVaried = 1u << 30, kSegment = kVaried - 1;

  enum class Relation { kNone, kSelf, kOrdered, kUnordered };
  Relation RelationOf(uint32_t cell, const Access& access) const;
  uint32_t ProgramOf(uint32_t cell) const;
  // Fails at the first cell of `cells` in the access that another program left and that is not ordered before
  // it.
  void CheckOthers(const Access& access, const uint32_t* cells, FaultKind kind, std::string_view verb,
                   std::string_view what) const;
  void Mark(const Access& access, uint32_t* cells) const;
  std::string_view Advice(const Access& access, uint32_t cell) const;
  [[noreturn]] void Conflict(const Access& access, size_t granule, uint32_t cell, FaultKind kind,
                             std::string_view verb, std::string_view what) const;

  int shift_;
  SyncTracker* tracker_;
  Cells writers_;
  std::unique_ptr<Cells> readers_, atomics_;
};

}  // namespace tritogen::tile
