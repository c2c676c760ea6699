#include "tile/registers.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/rounding.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

constexpr size_t kTileAlign = 64;
constexpr size_t kSmallBytes = 16;                    // scalars: a place of their own
constexpr size_t kMaxArenaBytes = size_t{512} << 20;  // per program

// May result 0 take the memory of `from`: every operand that is this register allows it.
bool WorksInPlace(const Instruction& instruction, Register from) {
  bool found = false;
  for (int i = 0; i < instruction.operands; ++i) {
    if (instruction.registers[instruction.results + i] != from) continue;
    if ((instruction.in_place >> i & 1) == 0) return false;
    found = true;
  }
  return found;
}

// Free stretches of the arena above `base`; first fit.
class FreeList {
 public:
  explicit FreeList(size_t base) : end_(base) {}

  size_t Take(size_t size) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      const size_t offset = it->first, rest = it->second - size;
      free_.erase(it);
      if (rest > 0) free_[offset + size] = rest;
      return offset;
    }
    const size_t offset = end_;
    end_ += size;
    return offset;
  }

  void Give(size_t offset, size_t size) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + size == next->first) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        previous->second += size;
        return;
      }
    }
    free_[offset] = size;
  }

  size_t end() const { return end_; }

 private:
  std::map<size_t, size_t> free_;  // offset → size
  size_t end_;
};

}  // namespace

Register Registers::New(size_t bytes) {
  registers_.push_back({.bytes = std::max<size_t>(bytes, 8)});
  offsets_.push_back(0);
  return static_cast<Register>(registers_.size() - 1);
}

Register Registers::NewArgument(size_t bytes) {
  const Register reg = New(bytes);
  registers_[reg].fixed = true;
  const size_t offset = RoundUp(image_.size(), bytes > kSmallBytes ? kTileAlign : 8);
  offsets_[reg] = static_cast<uint32_t>(offset);
  image_.resize(offset + RoundUp(bytes, 8));
  if (image_.size() > kMaxArenaBytes)
    throw TtirError(0, "the constants of this kernel are too large for the CPU", true);
  return reg;
}

Register Registers::NewConstant(const void* bytes, size_t size) {
  std::string key(static_cast<const char*>(bytes), size);
  auto [it, is_new] = constants_.try_emplace(std::move(key), 0);
  if (is_new) {
    it->second = NewArgument(size);
    registers_[it->second].constant = true;
    std::memcpy(image_.data() + offsets_[it->second], bytes, size);
  }
  return it->second;
}

std::vector<std::byte> Registers::ConstantBytes(Register reg) const {
  const auto begin = image_.begin() + offsets_[reg];
  return {begin, begin + static_cast<ptrdiff_t>(registers_[reg].bytes)};
}

// A carry can go when `source` has one definition, inside the loop, and nobody reads `target` after it; an
// instruction that reads `target` while it makes `source` must be able to work in place.
void Registers::MergeCarries(Code& code) const {
  if (carries_.empty()) return;
  struct Occurrence {
    int position;
    bool writes;
  };
  std::unordered_map<Register, std::vector<Occurrence>> seen;
  for (const Carry& carry : carries_) {
    seen[carry.target];
    seen[carry.source];
  }
  for (size_t position = 0; position < code.size(); ++position) {
    const Instruction& instruction = *code[position];
    for (size_t i = 0; i < instruction.registers.size(); ++i) {
      auto it = seen.find(instruction.registers[i]);
      if (it == seen.end()) continue;
      const bool writes = i < static_cast<size_t>(instruction.results);
      const bool scratch = i >= static_cast<size_t>(instruction.results + instruction.operands);
      it->second.push_back({static_cast<int>(position), writes || scratch});
    }
  }
  std::unordered_map<Register, Register> renamed;
  auto can_merge = [&](const Carry& carry) {
    if (registers_[carry.source].fixed || renamed.contains(carry.source) || renamed.contains(carry.target))
      return false;
    if (registers_[carry.source].bytes != registers_[carry.target].bytes) return false;
    int defined_at = -1;
    for (const Occurrence& o : seen[carry.source]) {
      if (!o.writes) continue;
      if (defined_at >= 0) return false;
      defined_at = o.position;
    }
    if (defined_at <= carry.loop_begin || defined_at >= carry.position) return false;
    for (const Occurrence& o : seen[carry.target]) {
      if (o.position < carry.loop_begin || o.position > carry.position) continue;
      if (o.position == carry.position) continue;
      if (o.writes || o.position > defined_at) return false;
    }
    const Instruction& definition = *code[defined_at];
    const auto& used = definition.registers;
    if (std::find(used.begin(), used.end(), carry.target) == used.end()) return true;
    return used[0] == carry.source && WorksInPlace(definition, carry.target);
  };
  for (const Carry& carry : carries_) {
    if (can_merge(carry)) renamed[carry.source] = carry.target;
  }
  if (renamed.empty()) return;
  for (auto& instruction : code) {
    for (Register& reg : instruction->registers) {
      auto it = renamed.find(reg);
      if (it != renamed.end()) reg = it->second;
    }
  }
}

std::vector<Registers::Interval> Registers::FindIntervals(const Code& code) {
  std::vector<int> innermost(code.size() + 1, -1);
  for (size_t i = 0; i < loops_.size(); ++i) {
    for (int position = loops_[i].begin; position <= loops_[i].end;) {
      int& slot = innermost[position];
      if (slot < 0) {
        slot = static_cast<int>(i);
        ++position;
        continue;
      }
      int inner = slot;  // an inner loop: skip it, and make this loop the parent of its outermost ancestor
      while (loops_[inner].parent >= 0) inner = loops_[inner].parent;
      if (inner != static_cast<int>(i)) loops_[inner].parent = static_cast<int>(i);
      position = loops_[inner].end + 1;
    }
  }
  std::vector<Interval> intervals(registers_.size());
  auto visit = [&](auto&& at) {
    for (size_t position = 0; position < code.size(); ++position) {
      for (Register reg : code[position]->registers) at(reg, static_cast<int>(position));
    }
    for (auto [reg, position] : touches_) at(reg, position);
  };
  visit([&](Register reg, int position) {
    intervals[reg].first = std::min(intervals[reg].first, position);
    intervals[reg].last = std::max(intervals[reg].last, position);
  });
  visit([&](Register reg, int position) {
    for (int loop = innermost[position]; loop >= 0 && loops_[loop].begin > intervals[reg].first;
         loop = loops_[loop].parent) {
      intervals[reg].last = std::max(intervals[reg].last, loops_[loop].end);
    }
  });
  return intervals;
}

size_t Registers::PlaceTiles(const Code& code, const std::vector<Interval>& intervals, size_t base) {
  std::vector<std::vector<Register>> starting(code.size() + 1), ending(code.size() + 1);
  for (Register reg = 0; reg < registers_.size(); ++reg) {
    const Interval& interval = intervals[reg];
    if (interval.last < 0 || registers_[reg].fixed || registers_[reg].bytes <= kSmallBytes) continue;
    starting[interval.first].push_back(reg);
    ending[interval.last].push_back(reg);
  }
  FreeList arena(base);
  std::vector<bool> handed_on(registers_.size());
  for (size_t position = 0; position < code.size(); ++position) {
    const Instruction& instruction = *code[position];
    for (Register reg : starting[position]) {
      bool placed = false;
      for (int i = 0; i < instruction.operands && !placed && instruction.registers[0] == reg; ++i) {
        const Register from = instruction.registers[instruction.results + i];
        placed = WorksInPlace(instruction, from) && registers_[from].bytes == registers_[reg].bytes &&
                 !registers_[from].fixed && intervals[from].last == static_cast<int>(position) &&
                 !handed_on[from] && intervals[from].first < static_cast<int>(position);
        if (!placed) continue;
        offsets_[reg] = offsets_[from];
        handed_on[from] = true;
      }
      if (!placed)
        offsets_[reg] = static_cast<uint32_t>(arena.Take(RoundUp(registers_[reg].bytes, kTileAlign)));
      if (arena.end() > kMaxArenaBytes)
        throw TtirError(0, "the tiles of this kernel need more memory than the CPU offers one program", true);
    }
    for (Register reg : ending[position]) {
      if (!handed_on[reg]) arena.Give(offsets_[reg], RoundUp(registers_[reg].bytes, kTileAlign));
    }
  }
  return arena.end();
}

size_t Registers::Layout(Code& code) {
  MergeCarries(code);
  const std::vector<Interval> intervals = FindIntervals(code);
  size_t end = RoundUp(image_.size(), 8);
  for (Register reg = 0; reg < registers_.size(); ++reg) {
    if (registers_[reg].fixed || registers_[reg].bytes > kSmallBytes) continue;
    offsets_[reg] = static_cast<uint32_t>(end);
    end += RoundUp(registers_[reg].bytes, 8);
  }
  end = PlaceTiles(code, intervals, RoundUp(end, kTileAlign));
  for (auto& instruction : code) {
    for (Register& reg : instruction->registers) reg = offsets_[reg];
  }
  return RoundUp(end, kTileAlign);
}

}  // namespace tritogen::tile
