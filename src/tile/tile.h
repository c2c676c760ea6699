// The tile machine: runs TTIR on the CPU and checks every memory access. This is its whole public face.
//   auto kernel = tile::Load(ttir_text);                  // parse, check, lower; cached by the caller
//   auto report = tile::Launch(*kernel, args, buffers, options);
// Sources: docs/tile_machine.md (semantics), Triton 3.6 dialect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace tritogen::tile {

// Broken or unsupported TTIR. `line` is the line in the TTIR text (1-based).
class TtirError : public std::runtime_error {
 public:
  TtirError(int line, std::string message, bool unsupported = false);
  int line() const { return line_; }
  bool unsupported() const {
    return unsupported_;
  }  // valid TTIR that the CPU cannot run (inline assembly, …)

 private:
  int line_;
  bool unsupported_;
};

// A parameter of the kernel as a launcher sees it.
struct Parameter {
  enum class Kind { kPointer, kInteger, kFloat, kDescriptor } kind;
  int bits = 64;  // of integers and floats
  int rank = 0;   // of descriptors; a descriptor stands for itself and the 2 × rank shape and stride
                  // parameters after it
};

class Executable;  // a lowered kernel, immutable, shared by threads

// Throws TtirError. Never crashes on any text.
std::shared_ptr<const Executable> Load(std::string_view ttir);
std::vector<Parameter> Parameters(const Executable& kernel);

// Which elements of a buffer hold defined values. Byte i is 1 when byte i of the buffer was written by
// somebody.
struct Buffer {
  std::byte* data = nullptr;
  size_t bytes = 0;
  uint8_t* defined = nullptr;  // bytes entries; null: all defined. Launch sets entries that the kernel writes
  std::string name;            // for messages: "input 0", "%4 (torch.empty, line 31)"
};

struct PointerArgument {
  int buffer;
  int64_t byte_offset;
};
struct DescriptorArgument {
  int buffer;
  int64_t byte_offset;
  std::vector<int64_t> shape, strides;  // elements
  bool pad_nan = false;
};
using Argument = std::variant<PointerArgument, int64_t, double, DescriptorArgument>;

enum class FaultKind {
  kOutOfBounds,         // a lane left the buffer its pointer came from
  kUndefinedRead,       // read memory that nobody wrote, and used it
  kWriteRace,           // two programs, or lanes of one, wrote different values to one place without atomics
  kReadWriteRace,       // a program, or a lane, read what another one writes, without synchronisation
  kMisaligned,          // address not a multiple of the element size
  kWriteToConstant,     // wrote into a buffer that the plan says is read-only (reserved)
  kAssert,              // tl.device_assert
  kTimeout,             // deadline passed (a spin loop that nobody ends, an endless while)
  kDeadlock,            // every program waits for another one
  kUndefinedBehaviour,  // step of zero, index out of range in gather, masked lane without other reached a
                        // store, …
};

struct Fault {
  FaultKind kind;
  std::string message;  // complete sentence with kernel, line, program, buffer and offset in it
  int line = 0;         // source line of the Python file when TTIR has locations, else the TTIR line
  std::array<int64_t, 3> program{0, 0, 0};
  std::string buffer;
  int64_t offset = 0;  // bytes from the start of the buffer
};

struct LaunchOptions {
  std::array<int64_t, 3> grid{1, 1, 1};
  // Shuffles programs, and lanes of atomics; its last bit says which of two a reduction takes first.
  uint64_t order_seed = 0;
  int threads = 1;           // 0: all cores
  int warps = 4;             // of a program on a GPU; the lanes of a single one are in step
  bool check_memory = true;  // races and undefined reads; bounds are always checked
  // With check_memory: a lane that reads what another one of its program wrote, with no barrier between, is a
  // fault. Else it is given what was there before: it may have no need of it.
  bool blame_lanes = false;
  // What a kernel could know the tile machine by is as on most GPUs: programs start in the order of their
  // numbers, and masked lanes of a load without `other` or of an atomic are zero, not what tells a store of
  // them (docs/tile_machine.md).
  bool like_a_gpu = false;
  double deadline_seconds = 60;
};

struct LaunchReport {
  std::vector<Fault> faults;  // empty: ran clean. At most 8 kept; the first one decides the verdict
  std::string printed;        // output of tl.device_print, at most 64 KiB
};

// Runs the whole grid. Faults end the launch early; memory outside the buffers is never touched.
// Throws TtirError only for arguments that do not fit the kernel's parameters.
LaunchReport Launch(const Executable& kernel, std::span<const Argument> arguments, std::span<Buffer> buffers,
                    const LaunchOptions& options);

// What a reader of the TTIR can tell about precision and work, for work share and precision findings.
struct Features {
  bool has_dot = false;
  bool tf32_dot = false;           // fp32 operands with inputPrecision = tf32
  bool half_dot_of_float = false;  // a dot on f16/bf16/f8 whose operands were truncated from f32
  bool stores = false;
  bool inline_assembly = false;
};
Features Inspect(const Executable& kernel);

}  // namespace tritogen::tile
