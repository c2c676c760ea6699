// Registers of a kernel being lowered, and their layout in the arena: constants, arguments and scalars first,
// then tiles that share memory when they are never alive together, so that a program's working set stays in
// the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/program.h"

namespace tritogen::tile {

using Register = uint32_t;
using Code = std::vector<std::unique_ptr<Instruction>>;

class Registers {
 public:
  Register New(size_t bytes);
  // Never written by instructions: its bytes are in the image of every arena. Equal constants share a
  // register.
  Register NewConstant(const void* bytes, size_t size);
  Register NewArgument(size_t bytes);
  bool is_constant(Register reg) const { return registers_[reg].constant; }
  std::vector<std::byte> ConstantBytes(Register reg) const;

  size_t count() const { return registers_.size(); }
  size_t bytes(Register reg) const { return registers_[reg].bytes; }

  // A loop of the code: what is alive at its start and used in it stays alive to its end. Inclusive
  // positions; inner loops come before the loops around them.
  void AddLoop(int begin, int end) { loops_.push_back({begin, end}); }
  // Keeps `reg` alive at a position beside the instructions that name it.
  void Touch(Register reg, int position) { touches_.emplace_back(reg, position); }
  // The copy target ← source at `position`, the end of a loop whose carried value `target` is: Layout
  // computes `source` into `target` at once where nobody needs the old value any more.
  void AddCarry(Register target, Register source, int loop_begin, int position) {
    carries_.push_back({target, source, loop_begin, position});
  }

  // Lays out the arena and rewrites the registers of all instructions to byte offsets. offsets()[reg] says
  // where a register lies, image() what an arena starts with. Returns the arena's size. Last call.
  size_t Layout(Code& code);
  const std::vector<uint32_t>& offsets() const { return offsets_; }
  std::vector<std::byte> TakeImage() { return std::move(image_); }

 private:
  struct Entry {
    size_t bytes = 0;
    bool fixed = false;     // has its place in the image
    bool constant = false;  // and its value
  };
  struct Loop {
    int begin, end, parent = -1;
  };
  struct Carry {
    Register target, source;
    int loop_begin, position;
  };
  struct Interval {
    int first = INT32_MAX, last = -1;
  };

  void MergeCarries(Code& code) const;
  std::vector<Interval> FindIntervals(const Code& code);
  size_t PlaceTiles(const Code& code, const std::vector<Interval>& intervals, size_t base);

  std::vector<Entry> registers_;
  std::vector<std::byte> image_;
  std::vector<uint32_t> offsets_;
  std::unordered_map<std::string, Register> constants_;
  std::vector<Loop> loops_;
  std::vector<Carry> carries_;
  std::vector<std::pair<Register, int>> touches_;
};

}  // namespace tritogen::tile
