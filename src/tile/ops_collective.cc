// tt.reduce, tt.scan, tt.map_elementwise. A region that is one known operation runs as a lane kernel; any
// other runs on whole slices at a time: reductions fold halves, scans double the distance.
#include <algorithm>

#include "tile/elementwise.h"
#include "tile/machine.h"

namespace tritogen::tile {
namespace {

// [outer, axis, inner] around the reduced dimension.
struct AxisShape {
  size_t outer = 1, axis = 1, inner = 1;
  size_t numel() const { return outer * axis * inner; }
};

AxisShape ShapeAround(const Type& type, int64_t axis) {
  AxisShape shape;
  for (int64_t i = 0; i < static_cast<int64_t>(type.shape.size()); ++i) {
    (i < axis ? shape.outer : i == axis ? shape.axis : shape.inner) *= static_cast<size_t>(type.shape[i]);
  }
  return shape;
}

class FastReduce final : public Instruction {
 public:
  FastReduce(lanes::ReduceFn fn, AxisShape shape) : fn_(fn), shape_(shape) {}
  void Run(Context& c) const override {
    fn_(operand(c, 0), result(c), shape_.outer, shape_.axis, shape_.inner);
  }

 private:
  lanes::ReduceFn fn_;
  AxisShape shape_;
};

class FastScan final : public Instruction {
 public:
  FastScan(lanes::ScanFn fn, AxisShape shape, bool reverse) : fn_(fn), shape_(shape), reverse_(reverse) {}
  void Run(Context& c) const override {
    fn_(operand(c, 0), result(c), shape_.outer, shape_.axis, shape_.inner, reverse_);
  }

 private:
  lanes::ScanFn fn_;
  AxisShape shape_;
  bool reverse_;
};

// Runs a region of scalar operations. Scratch: region arguments, region results, then what the subclass adds.
class RegionInstruction : public Instruction {
 protected:
  // `sizes`: element bytes of the arguments, then of the results.
  RegionInstruction(bool vector, size_t arguments, size_t region_results, std::vector<int> sizes)
      : vector_(vector), arguments_(arguments), region_results_(region_results), sizes_(std::move(sizes)) {}

  // results[r][i] = region(arguments[0][i], …) for n lanes.
  void RunRegion(Context& c, const std::byte* const* arguments, std::byte* const* results, size_t n) const {
    if (vector_) return RunLanes(c, arguments, results, 0, n);
    for (size_t i = 0; i < n; ++i) RunLanes(c, arguments, results, i, 1);
  }

  int own_scratch(size_t i) const { return static_cast<int>(arguments_ + region_results_ + i); }

  size_t arguments() const { return arguments_; }
  size_t region_results() const { return region_results_; }
  int argument_bytes(size_t i) const { return sizes_[i]; }
  int result_bytes(size_t i) const { return sizes_[arguments_ + i]; }

 private:
  void RunLanes(Context& c, const std::byte* const* arguments, std::byte* const* results, size_t from,
                size_t n) const {
    for (size_t i = 0; i < arguments_; ++i) {
      std::memcpy(scratch(c, static_cast<int>(i)), arguments[i] + from * argument_bytes(i),
                  n * argument_bytes(i));
    }
    const size_t after = c.pc, outer_lanes = std::exchange(c.region_lanes, n);
    const auto& code = c.launch->kernel().code;
    c.pc = static_cast<size_t>(target);
    while (c.pc != after - 1) {  // the region ends where this instruction stands
      const Instruction& instruction = *code[c.pc++];
      if ((++c.steps & 63) == 0) c.launch->CheckDeadline(c, instruction);
      instruction.Run(c);
    }
    c.pc = after;
    c.region_lanes = outer_lanes;
    for (size_t i = 0; i < region_results_; ++i) {
      std::memcpy(results[i] + from * result_bytes(i), scratch(c, static_cast<int>(arguments_ + i)),
                  n * result_bytes(i));
    }
  }

  bool vector_;
  size_t arguments_, region_results_;
  std::vector<int> sizes_;
};

// Reads or writes slice k of the axis as slice k of a tile with the axis in front: [axis, outer * inner].
void AxisToFront(const std::byte* from, std::byte* to, AxisShape s, size_t size, bool back) {
  const size_t run = s.inner * size;
  for (size_t k = 0; k < s.axis; ++k) {
    for (size_t o = 0; o < s.outer; ++o) {
      const size_t original = (o * s.axis + k) * run, fronted = (k * s.outer + o) * run;
      back ? std::memcpy(to + original, from + fronted, run)
           : std::memcpy(to + fronted, from + original, run);
    }
  }
}

// Own scratch: one tile per operand, axis in front. A GPU combines in whatever order its registers and warps
// have: which of two comes first changes with the launch's seed.
class GeneralReduce final : public RegionInstruction {
 public:
  GeneralReduce(bool vector, const std::vector<int>& sizes, AxisShape shape)
      : RegionInstruction(vector, sizes.size() * 2 / 3, sizes.size() / 3, sizes), shape_(shape) {}

  void Run(Context& c) const override {
    const size_t count = region_results(), slice = shape_.outer * shape_.inner;
    std::vector<std::byte*> tiles(count);
    for (size_t i = 0; i < count; ++i) {
      tiles[i] = scratch(c, own_scratch(i));
      AxisToFront(operand(c, static_cast<int>(i)), tiles[i], shape_, argument_bytes(i), false);
    }
    std::vector<const std::byte*> arguments(2 * count);
    const bool turned = (c.launch->options().order_seed & 1) != 0;
    for (size_t half = shape_.axis / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < count; ++i) {
        const std::byte *front = tiles[i], *back = tiles[i] + half * slice * argument_bytes(i);
        arguments[i] = turned ? back : front;
        arguments[count + i] = turned ? front : back;
      }
      RunRegion(c, arguments.data(), tiles.data(), half * slice);
    }
    for (size_t i = 0; i < count; ++i)
      std::memcpy(result(c, static_cast<int>(i)), tiles[i], slice * argument_bytes(i));
  }

 private:
  AxisShape shape_;
};

// Own scratch: two tiles per operand, axis in front (and turned round when reverse).
class GeneralScan final : public RegionInstruction {
 public:
  GeneralScan(bool vector, const std::vector<int>& sizes, AxisShape shape, bool reverse)
      : RegionInstruction(vector, sizes.size() * 2 / 3, sizes.size() / 3, sizes),
        shape_(shape),
        reverse_(reverse) {}

  void Run(Context& c) const override {
    const size_t count = region_results(), slice = shape_.outer * shape_.inner;
    std::vector<std::byte*> current(count), next(count), later(count);
    for (size_t i = 0; i < count; ++i) {
      current[i] = scratch(c, own_scratch(2 * i));
      next[i] = scratch(c, own_scratch(2 * i + 1));
      AxisToFront(operand(c, static_cast<int>(i)), current[i], shape_, argument_bytes(i), false);
      if (reverse_) TurnRound(current[i], slice * argument_bytes(i));
    }
    std::vector<const std::byte*> arguments(2 * count);
    for (size_t distance = 1; distance < shape_.axis; distance *= 2) {
      for (size_t i = 0; i < count; ++i) {
        const size_t skipped = distance * slice * argument_bytes(i);
        std::memcpy(next[i], current[i], skipped);
        arguments[i] = current[i];
        arguments[count + i] = current[i] + skipped;
        later[i] = next[i] + skipped;
      }
      RunRegion(c, arguments.data(), later.data(), (shape_.axis - distance) * slice);
      std::swap(current, next);
    }
    for (size_t i = 0; i < count; ++i) {
      if (reverse_) TurnRound(current[i], slice * argument_bytes(i));
      AxisToFront(current[i], result(c, static_cast<int>(i)), shape_, argument_bytes(i), true);
    }
  }

 private:
  void TurnRound(std::byte* tile, size_t slice_bytes) const {
    for (size_t i = 0, k = shape_.axis - 1; i < k; ++i, --k) {
      std::swap_ranges(tile + i * slice_bytes, tile + (i + 1) * slice_bytes, tile + k * slice_bytes);
    }
  }

  AxisShape shape_;
  bool reverse_;
};

// Own scratch: one tile per region result, one per region argument. `pack` neighbours go into one call.
class MapElementwise final : public RegionInstruction {
 public:
  MapElementwise(bool vector, const std::vector<int>& sizes, size_t arguments, size_t pack, size_t lanes)
      : RegionInstruction(vector, arguments, sizes.size() - arguments, sizes), pack_(pack), lanes_(lanes) {}

  void Run(Context& c) const override {
    std::vector<std::byte*> inputs(arguments()), outputs(region_results());
    for (size_t i = 0; i < arguments(); ++i) {
      inputs[i] = scratch(c, own_scratch(region_results() + i));
      Strided(operand(c, static_cast<int>(i / pack_)), inputs[i], i % pack_, argument_bytes(i), false);
    }
    for (size_t i = 0; i < region_results(); ++i) outputs[i] = scratch(c, own_scratch(i));
    std::vector<const std::byte*> read(inputs.begin(), inputs.end());
    RunRegion(c, read.data(), outputs.data(), lanes_ / pack_);
    for (size_t i = 0; i < region_results(); ++i) {
      Strided(outputs[i], result(c, static_cast<int>(i / pack_)), i % pack_, result_bytes(i), true);
    }
  }

 private:
  // Every pack-th element from `first` on, to or from a dense tile.
  void Strided(const std::byte* from, std::byte* to, size_t first, size_t size, bool spread) const {
    if (pack_ == 1) {
      std::memcpy(to, from, lanes_ * size);
      return;
    }
    for (size_t i = 0; i < lanes_ / pack_; ++i) {
      const size_t wide = (i * pack_ + first) * size, dense = i * size;
      std::memcpy(to + (spread ? wide : dense), from + (spread ? dense : wide), size);
    }
  }

  size_t pack_, lanes_;
};

// The region's only operation, when it combines accumulator and element in this order (or commutes): else
// null.
const Operation* SingleOperation(const Operation& op) {
  const Block& block = op.regions[0].blocks[0];
  if (block.arguments.size() != 2 || block.operations.size() != 2) return nullptr;
  const Operation& only = block.operations[0];
  const bool combines = only.operands.size() == 2 && only.results.size() == 1 &&
                        ((only.operands[0] == block.arguments[0] && only.operands[1] == block.arguments[1]) ||
                         (only.operands[0] == block.arguments[1] && only.operands[1] == block.arguments[0]));
  return combines && block.operations[1].operands[0] == only.results[0] ? &only : nullptr;
}

std::vector<Register> NewResults(Lowering& lowering, const Operation& op) {
  std::vector<Register> results;
  for (ValueId id : op.results) {
    const Type& type = lowering.TypeOf(id);
    results.push_back(lowering.NewTile(type.elem, type.numel()));
    lowering.Define(id, {results.back(), type.numel() == 1});
  }
  return results;
}

// True when a lane kernel does it.
bool LowerFast(Lowering& lowering, const Operation& op, const AxisShape& shape) {
  const Operation* only = SingleOperation(op);
  if (only == nullptr) return false;
  const Elem elem = lowering.TypeOf(op.operands[0]).elem;
  if (op.code == OpCode::kReduce) {
    const lanes::ReduceFn fn = lanes::FindReduce(only->code, elem);
    if (fn == nullptr) return false;
    const Register operand = lowering.Full(op.operands[0]);
    lowering.Emit<FastReduce>(NewResults(lowering, op), {operand}, {}, fn, shape);
  } else {
    const lanes::ScanFn fn = lanes::FindScan(only->code, elem);
    if (fn == nullptr) return false;
    const Register operand = lowering.Full(op.operands[0]);
    lowering.Emit<FastScan>(NewResults(lowering, op), {operand}, {}, fn, shape, op.Attr<bool>("reverse"));
  }
  return true;
}

std::vector<Register> RegistersOf(const std::vector<Operand>& a, const std::vector<Operand>& b) {
  std::vector<Register> registers;
  for (const Operand& operand : a) registers.push_back(operand.reg);
  for (const Operand& operand : b) registers.push_back(operand.reg);
  return registers;
}

std::vector<Register> FullOperands(Lowering& lowering, const Operation& op) {
  std::vector<Register> operands;
  for (ValueId operand : op.operands) operands.push_back(lowering.Full(operand));
  return operands;
}

void LowerReduceOrScan(Lowering& lowering, const Operation& op) {
  const Type& type = lowering.TypeOf(op.operands[0]);
  const AxisShape shape = ShapeAround(type, op.Attr<int64_t>("axis"));
  if (LowerFast(lowering, op, shape)) return;
  const bool scan = op.code == OpCode::kScan;
  const std::vector<Register> operands = FullOperands(lowering, op);
  const size_t region_lanes = scan ? shape.numel() : std::max<size_t>(shape.numel() / 2, 1);
  std::vector<int> sizes;
  for (int repeat = 0; repeat < 3; ++repeat) {  // accumulators, elements, results
    for (ValueId operand : op.operands) sizes.push_back(ElemBytes(lowering.TypeOf(operand).elem));
  }
  std::vector<Register> tiles;
  for (ValueId operand : op.operands) {
    for (int copies = scan ? 2 : 1; copies > 0; --copies)
      tiles.push_back(lowering.NewTile(lowering.TypeOf(operand).elem, shape.numel()));
  }
  const std::vector<Register> results = NewResults(lowering, op);
  const Lowering::LoweredRegion region = lowering.LowerRegion(op, region_lanes, tiles);
  std::vector<Register> scratch = RegistersOf(region.arguments, region.results);
  scratch.insert(scratch.end(), tiles.begin(), tiles.end());
  if (scan) {
    lowering
        .Emit<GeneralScan>(results, operands, scratch, region.vector, sizes, shape, op.Attr<bool>("reverse"))
        .target = region.begin;
  } else {
    lowering.Emit<GeneralReduce>(results, operands, scratch, region.vector, sizes, shape).target =
        region.begin;
  }
}

void LowerMap(Lowering& lowering, const Operation& op) {
  const Block &block = op.regions[0].blocks[0], &last = op.regions[0].blocks.back();
  const size_t lanes = lowering.TypeOf(op.operands[0]).numel(),
               pack = static_cast<size_t>(op.Attr<int64_t>("pack", 1));
  const std::vector<Register> operands = FullOperands(lowering, op);
  std::vector<int> sizes;
  std::vector<Register> tiles, inputs;
  for (ValueId argument : block.arguments) {
    sizes.push_back(ElemBytes(lowering.TypeOf(argument).elem));
    inputs.push_back(lowering.NewTile(lowering.TypeOf(argument).elem, lanes / pack));
  }
  for (ValueId result : last.operations.back().operands) {
    sizes.push_back(ElemBytes(lowering.TypeOf(result).elem));
    tiles.push_back(lowering.NewTile(lowering.TypeOf(result).elem, lanes / pack));
  }
  const std::vector<Register> results = NewResults(lowering, op);
  tiles.insert(tiles.end(), inputs.begin(), inputs.end());
  const Lowering::LoweredRegion region = lowering.LowerRegion(op, lanes / pack, tiles);
  std::vector<Register> scratch = RegistersOf(region.arguments, region.results);
  scratch.insert(scratch.end(), tiles.begin(), tiles.end());
  lowering
      .Emit<MapElementwise>(results, operands, scratch, region.vector, sizes, block.arguments.size(), pack,
                            lanes)
      .target = region.begin;
}

}  // namespace

bool LowerCollective(Lowering& lowering, const Operation& op) {
  if (op.code == OpCode::kReduce || op.code == OpCode::kScan) return LowerReduceOrScan(lowering, op), true;
  if (op.code == OpCode::kMapElementwise) return LowerMap(lowering, op), true;
  return false;
}

}  // namespace tritogen::tile
