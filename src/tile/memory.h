// The buffers of one launch and every access to them: bounds, alignment, definedness and races are checked
// here, tiles are moved in contiguous runs where their pointers allow it. Thread-safe: accesses that are
// checked for races, and all atomics, hold the locks of the stripes they touch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tile/checker.h"
#include "tile/lane_order.h"
#include "tile/lanes/memory.h"
#include "tile/pointer.h"
#include "tile/program.h"

namespace tritogen::tile {

class SyncTracker;

inline constexpr int kStripes = 64;

struct LaunchBuffer {
  std::byte* data = nullptr;
  int64_t bytes = 0;
  uint8_t* defined = nullptr;  // null: every byte is defined
  std::string name;
  uint64_t first = 0;  // encoded pointer to data
  std::unique_ptr<Shadow> shadow;
  std::unique_ptr<LaneShadow> lanes;  // null: no lane can meet what another one of its program did
  std::unique_ptr<std::array<std::atomic_flag, kStripes>> locks;  // null: nobody else runs
  int stripe_shift = 0;
};

// How the kernel may access a buffer, from the provenance of its instructions.
struct BufferUse {
  bool read = false, write = false, atomic = false;
  int granule = 8;  // smallest access in bytes
  int accesses = 0;
};

enum class LaneChecks { kNone, kGiveOld, kBlame };  // what happens to who comes without a barrier

class LaunchMemory {
 public:
  // `uses` has one entry per buffer. `check`: accesses of programs against each other, and where `lanes` says
  // so those of a program's lanes. `tracker`: null when programs are not ordered. `parallel`: several threads
  // may run.
  LaunchMemory(std::span<Buffer> buffers, const std::vector<BufferUse>& uses, bool check, LaneChecks lanes,
               bool parallel, SyncTracker* tracker);

  // Reads or writes `n` lanes of `size` bytes through pointers p; mask null: all. Lanes that are off are not
  // touched.
  void Load(Context& c, const Instruction& at, const uint64_t* p, const uint8_t* mask, int size,
            std::byte* out, size_t n);
  void Store(Context& c, const Instruction& at, const uint64_t* p, const uint8_t* mask, int size,
             const std::byte* in, size_t n);

  // Atomic accesses: body(data, lane, count) works on `count` neighbours at a time while their stripes are
  // locked. kChangeInCta: atomic within its program only.
  using AtomicBody = std::function<void(std::byte* data, size_t lane, size_t count)>;
  enum class AtomicKind { kRead, kChange, kChangeInCta };
  void Atomic(Context& c, const Instruction& at, AtomicKind kind, const uint64_t* p, const uint8_t* mask,
              int size, size_t n, const AtomicBody& body);

 private:
  class Guard;
  // Both ends of the range lie in one buffer, aligned: then every pointer between does. Null otherwise.
  LaunchBuffer* Find(const lanes::PointerRange& range, int size);
  // The buffer of one lane's access; fails when it is not inside one.
  LaunchBuffer& FindLane(const Context& c, const Instruction& at, std::string_view verb, uint64_t pointer,
                         int size);
  [[noreturn]] void FailBounds(const Context& c, const Instruction& at, std::string_view verb,
                               uint64_t pointer, int size) const;

  // Calls run(buffer, lane, offset, count) for contiguous lanes and scattered(buffer, lane, count) for the
  // others; where it was more than one run, done() at the end, with what was visited still locked if it lies
  // in one buffer.
  template <class Run, class Scattered, class Done>
  void Visit(const Context& c, const Instruction& at, std::string_view verb, const uint64_t* p,
             const uint8_t* mask, int size, size_t n, Run&& run, Scattered&& scattered, Done&& done);
  void CheckLoad(Context& c, const Instruction& at, LaunchBuffer& buffer, int64_t offset, int64_t bytes);
  void CheckDefined(const Context& c, const Instruction& at, std::string_view verb, LaunchBuffer& buffer,
                    int64_t offset, int64_t bytes);
  // Bytes from `offset` on, of lanes from `lane` on.
  void CheckAtomic(Context& c, const Instruction& at, AtomicKind kind, LaunchBuffer& buffer, size_t lane,
                   int64_t offset, int64_t bytes);
  // A granule where another lane of the program wrote another value, if there is one.
  std::optional<size_t> CheckStore(Context& c, const Instruction& at, LaunchBuffer& buffer, size_t lane,
                                   int64_t offset, int64_t bytes, const std::byte* in);
  // Fails where memory does not hold what a lane of a store put there: another lane wrote something else.
  void CheckKept(const Context& c, const Instruction& at, const uint64_t* p, const uint8_t* mask, int size,
                 const std::byte* in, size_t n) const;

  std::vector<LaunchBuffer> buffers_;
  const lanes::MemoryKernels& kernels_ = lanes::Memory();
};

// Holds the locks of the stripes of a byte range; nothing when the buffer has none.
class LaunchMemory::Guard {
 public:
  Guard() = default;
  Guard(LaunchBuffer& buffer, int64_t begin, int64_t end);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

 private:
  std::array<std::atomic_flag, kStripes>* locks_ = nullptr;
  int first_ = 0, last_ = -1;
};

}  // namespace tritogen::tile
