// A lowered kernel: one list of instructions over one arena of registers, calls expanded, structured control
// flow as jumps. Executables are immutable and shared by threads; everything that changes while a program
// runs is in its Context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tile/ir.h"
#include "tile/lanes/word.h"
#include "tile/tile.h"

namespace tritogen::tile {

class LaunchState;

// What the checker calls a program's run, in pieces (sync.h); 0: none yet.
struct Segments {
  uint32_t first = 0;  // what its first thread does since the last release; of one warp, all that it does
  uint32_t tiles = 0;  // what all threads do since they last met …
  uint32_t met = 0;    // … and the last such piece before that
};

// One program instance. Everything that it is lies in its arena, `pc` and the checker's clock, so that a
// program can be left after any instruction and taken up again.
struct Context {
  LaunchState* launch = nullptr;
  std::byte* arena = nullptr;
  size_t pc = 0;
  size_t region_lanes = 0;  // lanes of the combine region being run
  uint32_t program = 0;     // linear index in the grid
  Segments segments;
  uint32_t stamp = 0;    // lane_order.h's name for "this program since its threads last met"
  bool suspend = false;  // a spin loop went round: let others run
  uint32_t steps = 0;
  std::array<int64_t, 3> id{0, 0, 0};
};

// How an instruction touches memory through its operand 0.
enum class MemoryUse : uint8_t { kNone, kRead, kWrite, kAtomic };

class Instruction {
 public:
  virtual ~Instruction() = default;
  virtual void Run(Context& c) const = 0;

  std::byte* result(const Context& c, int i = 0) const { return c.arena + registers[i]; }
  std::byte* operand(const Context& c, int i) const { return c.arena + registers[results + i]; }
  std::byte* scratch(const Context& c, int i) const { return c.arena + registers[results + operands + i]; }

  // Results, operands, scratch. Numbers of registers while lowering, byte offsets in the arena afterwards.
  std::vector<uint32_t> registers;
  int results = 0;
  int operands = 0;
  int line = 0;
  int target = -1;  // jumps and regions: a label while lowering, an index into the code afterwards
  // Bit i: result 0 may take the memory of operand i, if that has its size and is not used again.
  uint32_t in_place = 0;
  MemoryUse memory = MemoryUse::kNone;
  int access_bytes = 0;     // element size of the access
  uint32_t first_lane = 0;  // what lane_order.h calls its lanes; 0: their order is not asked about
  // A write-through scalar store: in a kernel that spins, of what volatile loads wait for. It orders nothing.
  bool sets_flag = false;
  bool result_read = true;      // set by FindReadResults: another instruction takes a result as operand
  bool makes_pointers = false;  // from integers, so that they may point anywhere
  bool any_buffer = false;  // set by provenance analysis: the pointer may come from memory or from integers
  std::vector<int> pointer_parameters;  // set by it: the kernel parameters that the pointer may come from
};

template <class T>
T LoadAs(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
// A two's complement number of 1, 2, 4 or 8 bytes.
inline int64_t LoadSigned(const std::byte* at, int bytes) {
  return WithWord(bytes,
                  [at](auto word) -> int64_t { return LoadAs<std::make_signed_t<decltype(word)>>(at); });
}
template <class T>
void StoreAs(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// The value of a tensor descriptor, as it lies in a register.
struct DescriptorValue {
  uint64_t base = 0;  // encoded pointer
  int64_t shape[kMaxDescriptorRank] = {};
  int64_t strides[kMaxDescriptorRank] = {};  // elements
  uint64_t pad_nan = 0;
};

class Executable {
 public:
  std::string name;
  std::vector<Type> parameters;
  std::vector<Parameter> public_parameters;
  std::vector<uint32_t> parameter_offsets;  // where Launch puts the arguments
  std::vector<std::unique_ptr<Instruction>> code;
  size_t arena_bytes = 0;
  std::vector<std::byte> image;  // first bytes of every arena: constants and arguments
  Features features;
  bool spins = false;  // has a while loop around atomic or volatile accesses
  bool volatile_loads = false;
  bool synchronises = false;     // has a scalar atomic, so programs may be ordered
  bool undefined_lanes = false;  // has a masked load without `other`
};

}  // namespace tritogen::tile
