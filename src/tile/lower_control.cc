// Functions, branches, loops and regions as jumps and moves.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "tile/elementwise.h"
#include "tile/fault.h"
#include "tile/lanes/memory.h"
#include "tile/lower.h"
#include "tile/lower_frame.h"

namespace tritogen::tile {
namespace {

class Jump final : public Instruction {
 public:
  void Run(Context& c) const override { c.pc = static_cast<size_t>(target); }
};

// Jumps when the condition is false.
class BranchUnless final : public Instruction {
 public:
  void Run(Context& c) const override {
    if (LoadAs<uint8_t>(operand(c, 0)) == 0) c.pc = static_cast<size_t>(target);
  }
};

// Back to the head of a while loop. A loop that may wait for another program lets it run.
class LoopBack final : public Instruction {
 public:
  explicit LoopBack(bool spins) : spins_(spins) {}
  void Run(Context& c) const override {
    c.pc = static_cast<size_t>(target);
    c.suspend = spins_;
  }

 private:
  bool spins_;
};

// iv, trips left ← lower, upper, step; jumps over the loop when it has no trip.
class ForBegin final : public Instruction {
 public:
  explicit ForBegin(int bytes) : bytes_(bytes) {}
  void Run(Context& c) const override {
    const int64_t lower = LoadSigned(operand(c, 0), bytes_), upper = LoadSigned(operand(c, 1), bytes_);
    const int64_t step = LoadSigned(operand(c, 2), bytes_);
    if (step <= 0)
      FailUndefined(c, *this, fmt::format("the step of a loop is {}; it must be positive", step));
    if (lower >= upper) {
      c.pc = static_cast<size_t>(target);
      return;
    }
    const uint64_t distance = static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower);
    StoreAs(result(c, 0), lower);
    StoreAs(result(c, 1), (distance - 1) / static_cast<uint64_t>(step) + 1);
  }

 private:
  int bytes_;
};

class ForNext final : public Instruction {
 public:
  void Run(Context& c) const override {
    const uint64_t left = LoadAs<uint64_t>(scratch(c, 1)) - 1;
    if (left == 0) return;
    StoreAs(scratch(c, 1), left);
    StoreAs(scratch(c, 0),
            LoadAs<uint64_t>(scratch(c, 0)) + static_cast<uint64_t>(LoadSigned(operand(c, 0), bytes_)));
    c.pc = static_cast<size_t>(target);
  }
  explicit ForNext(int bytes) : bytes_(bytes) {}

 private:
  int bytes_;
};

class Copy final : public Instruction {
 public:
  explicit Copy(size_t bytes) : bytes_(bytes) {}
  void Run(Context& c) const override {
    std::byte *to = result(c), *from = operand(c, 0);
    if (to != from) std::memcpy(to, from, bytes_);
  }

 private:
  size_t bytes_;
};

// One element for all lanes → a variable that is a whole tile.
class SpreadTo final : public Instruction {
 public:
  SpreadTo(int size, size_t lanes) : size_(size), lanes_(lanes) {}
  void Run(Context& c) const override { lanes::Memory().fill(operand(c, 0), size_, result(c), lanes_); }

 private:
  int size_;
  size_t lanes_;
};

const Operation& Terminator(const Block& block) {
  return block.operations.back();
}

// May the operations wait for another program: do they read memory that others write while they loop?
bool MaySpin(const Module& module, const Region& region) {
  for (const Block& block : region.blocks) {
    for (const Operation& op : block.operations) {
      if (op.code == OpCode::kAtomicRmw || op.code == OpCode::kAtomicCas) return true;
      if (op.code == OpCode::kLoad &&
          (op.Attr<bool>("isVolatile") || op.Attr<std::string>("cacheModifier") == "cv"))
        return true;
      if (op.code == OpCode::kCall) {
        const std::string callee = op.Attr<std::string>("callee");
        for (const Function& function : module.functions) {
          if (function.name == callee && MaySpin(module, function.body)) return true;
        }
      }
      for (const Region& inner : op.regions) {
        if (MaySpin(module, inner)) return true;
      }
    }
  }
  return false;
}

// Does every lane take the same way through the region? Where scf.if stands, both sides can be computed.
bool IsStraight(const Region& region) {
  if (region.blocks.size() > 1) return false;
  for (const Block& block : region.blocks) {
    for (const Operation& op : block.operations) {
      if (op.code == OpCode::kFor || op.code == OpCode::kWhile || op.code == OpCode::kCall) return false;
      if (!std::all_of(op.regions.begin(), op.regions.end(), IsStraight)) return false;
    }
  }
  return true;
}

}  // namespace

int Lowering::NewLabel() {
  label_positions_.push_back(-1);
  return static_cast<int>(label_positions_.size()) - 1;
}
void Lowering::Place(int label) {
  label_positions_[label] = Position();
}

std::vector<Type> Lowering::TypesOf(const std::vector<ValueId>& values) const {
  std::vector<Type> types;
  for (ValueId value : values) types.push_back(TypeOf(value));
  return types;
}

std::vector<Operand> Lowering::NewVariables(const std::vector<ValueId>& values) {
  std::vector<Operand> variables;
  for (ValueId value : values) {
    const Type& type = TypeOf(value);
    const bool uniform = !type.is_tensor() || (*frame_->uniform)[value];
    variables.push_back({NewTile(type.elem, uniform ? 1 : type.numel()), uniform});
  }
  return variables;
}

void Lowering::MoveOne(Operand target, Operand source, const Type& type) {
  const size_t bytes = RegisterBytes(type.elem);
  const size_t lanes = type.is_tensor() ? static_cast<size_t>(type.numel()) : 1;
  if (!target.uniform && source.uniform && lanes > 1) {
    Emit<SpreadTo>({target.reg}, {source.reg}, {}, static_cast<int>(bytes), lanes);
    return;
  }
  TRITOGEN_CHECK(source.uniform || !target.uniform || lanes == 1);
  Emit<Copy>({target.reg}, {source.reg}, {}, target.uniform ? bytes : bytes * lanes);
}

void Lowering::Move(const std::vector<Operand>& targets, const std::vector<ValueId>& sources,
                    int loop_begin) {
  std::unordered_map<Register, size_t> written;
  for (size_t i = 0; i < targets.size(); ++i) written[targets[i].reg] = i;
  std::vector<Operand> from;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Operand source = Use(sources[i]);
    auto it = written.find(source.reg);
    if (it == written.end() || it->second == i) {
      from.push_back(source);
      continue;
    }
    const Type& type = TypeOf(sources[i]);  // the source is overwritten by another move: keep a copy
    const Operand kept{NewTile(type.elem, source.uniform ? 1 : type.numel()), source.uniform};
    MoveOne(kept, source, type);
    from.push_back(kept);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].reg == from[i].reg) continue;
    if (loop_begin >= 0 && !targets[i].uniform && !from[i].uniform) {
      registers_.AddCarry(targets[i].reg, from[i].reg, loop_begin, Position());
    }
    MoveOne(targets[i], from[i], TypeOf(sources[i]));
  }
}

void Lowering::LowerBody(const Function& function, const std::vector<Operand>& arguments,
                         std::vector<Operand>* results) {
  Frame frame;
  frame.values.resize(function.values.size());
  const auto [uniform, is_new] = uniform_.try_emplace(&function);
  if (is_new) uniform->second = UniformValues(function);
  frame.uniform = &uniform->second;
  const auto [hinted, is_first] = hinted_.try_emplace(&function);
  if (is_first) hinted->second = FindHintedAccesses(function);
  frame.hinted = &hinted->second;
  Frame* const caller_frame = std::exchange(frame_, &frame);
  const Function* const caller = std::exchange(function_, &function);
  results->clear();
  for (const Type& type : function.results) {
    const size_t lanes = type.is_tensor() ? type.numel() : 1;
    results->push_back({NewTile(type.elem, lanes), lanes == 1});
  }
  LowerBlocks(function.body, arguments, *results);
  frame_ = caller_frame;
  function_ = caller;
}

void Lowering::LowerBlocks(const Region& region, const std::vector<Operand>& arguments,
                           const std::vector<Operand>& results) {
  Frame::Blocks around = std::exchange(frame_->blocks, {});
  Frame::Blocks& blocks = frame_->blocks;
  blocks.results = results;
  blocks.return_label = NewLabel();
  for (size_t i = 0; i < region.blocks.size(); ++i) {
    const Block& block = region.blocks[i];
    blocks.labels.push_back(NewLabel());
    blocks.arguments.push_back(i == 0 ? arguments : NewVariables(block.arguments));
    for (size_t k = 0; k < block.arguments.size(); ++k) Define(block.arguments[k], blocks.arguments[i][k]);
  }
  for (size_t i = 0; i < region.blocks.size(); ++i) {
    Place(blocks.labels[i]);
    LowerBlock(region.blocks[i]);
    LowerOperation(Terminator(region.blocks[i]));
  }
  Place(blocks.return_label);
  frame_->blocks = std::move(around);
}

void Lowering::LowerBlock(const Block& block) {
  for (size_t i = 0; i + 1 < block.operations.size(); ++i) LowerOperation(block.operations[i]);
}

void Lowering::LowerCall(const Operation& op) {
  const std::string callee = op.Attr<std::string>("callee");
  for (const Function& function : module_.functions) {
    if (function.name != callee) continue;
    std::vector<Operand> arguments, results;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Type& type = TypeOf(op.operands[i]);
      // A callee is analysed for tiles that differ from lane to lane.
      arguments.push_back(type.is_tensor() ? Operand{Full(op.operands[i]), type.numel() == 1}
                                           : Use(op.operands[i]));
    }
    LowerBody(function, arguments, &results);
    for (size_t i = 0; i < op.results.size(); ++i) Define(op.results[i], results[i]);
    return;
  }
  Unsupported(op, "calls a function that is not in the text");
}

void Lowering::LowerReturn(const Operation& op) {
  Move(frame_->blocks.results, op.operands);
  Emit<Jump>({}, {}, {}).target = frame_->blocks.return_label;
}

void Lowering::LowerBranch(const Operation& op) {
  auto go = [&](const Successor& successor) {
    Move(frame_->blocks.arguments[successor.block], successor.arguments);
    Emit<Jump>({}, {}, {}).target = frame_->blocks.labels[successor.block];
  };
  if (op.code == OpCode::kBr) return go(op.successors[0]);
  const int otherwise = NewLabel();
  Emit<BranchUnless>({}, {Use(op.operands[0]).reg}, {}).target = otherwise;
  go(op.successors[0]);
  Place(otherwise);
  go(op.successors[1]);
}

void Lowering::LowerFor(const Operation& op) {
  const Block& body = op.regions[0].blocks[0];
  const std::vector<ValueId> inits(op.operands.begin() + 3, op.operands.end());
  const std::vector<ValueId> carried(body.arguments.begin() + 1, body.arguments.end());
  const std::vector<Operand> variables = NewVariables(carried);
  Move(variables, inits);
  const int bytes = ElemBytes(TypeOf(op.operands[0]).elem);
  const Register iv = NewScratch(8), left = NewScratch(8), step = Use(op.operands[2]).reg;
  const int end = NewLabel(), begin = NewLabel();
  Emit<ForBegin>({iv, left}, {Use(op.operands[0]).reg, Use(op.operands[1]).reg, step}, {}, bytes).target =
      end;
  Place(begin);
  const int first = Position();
  Define(body.arguments[0], {iv, true});
  for (size_t i = 0; i < carried.size(); ++i) Define(carried[i], variables[i]);
  LowerBlock(body);
  line_ = op.line;
  Move(variables, Terminator(body).operands, first);
  Emit<ForNext>({}, {step}, {iv, left}, bytes).target = begin;
  registers_.AddLoop(first, Position() - 1);
  Place(end);
  for (size_t i = 0; i < op.results.size(); ++i) Define(op.results[i], variables[i]);
}

void Lowering::LowerIf(const Operation& op) {
  const std::vector<Operand> variables = NewVariables(op.results);
  const int otherwise = NewLabel(), end = NewLabel();
  Emit<BranchUnless>({}, {Use(op.operands[0]).reg}, {}).target = otherwise;
  auto branch = [&](const Region& region) {
    if (region.blocks.empty()) return;
    LowerBlock(region.blocks[0]);
    Move(variables, Terminator(region.blocks[0]).operands);
  };
  branch(op.regions[0]);
  Emit<Jump>({}, {}, {}).target = end;
  Place(otherwise);
  branch(op.regions[1]);
  Place(end);
  for (size_t i = 0; i < op.results.size(); ++i) Define(op.results[i], variables[i]);
}

// In a region that runs on many lanes at once both branches are computed; they have no effects.
void Lowering::LowerIfAsSelect(const Operation& op) {
  LowerBlock(op.regions[0].blocks[0]);
  if (op.regions[1].blocks.empty()) return;
  LowerBlock(op.regions[1].blocks[0]);
  const Operation& then = Terminator(op.regions[0].blocks[0]);
  const Operation& otherwise = Terminator(op.regions[1].blocks[0]);
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Type& type = TypeOf(op.results[i]);
    Define(op.results[i], EmitSelect(*this, Use(op.operands[0]), Use(then.operands[i]),
                                     Use(otherwise.operands[i]), type.elem, kRegionLanes));
  }
}

void Lowering::LowerWhile(const Operation& op) {
  const Block &before = op.regions[0].blocks[0], &after = op.regions[1].blocks[0];
  const std::vector<Operand> variables = NewVariables(before.arguments);
  Move(variables, op.operands);
  const int begin = NewLabel(), end = NewLabel();
  Place(begin);
  const int first = Position();
  for (size_t i = 0; i < variables.size(); ++i) Define(before.arguments[i], variables[i]);
  LowerBlock(before);
  const Operation& condition = Terminator(before);
  line_ = condition.line;
  Emit<BranchUnless>({}, {Use(condition.operands[0]).reg}, {}).target = end;
  for (size_t i = 0; i < after.arguments.size(); ++i)
    Define(after.arguments[i], Use(condition.operands[i + 1]));
  LowerBlock(after);
  line_ = op.line;
  Move(variables, Terminator(after).operands, first);
  const bool spins = MaySpin(module_, op.regions[0]) || MaySpin(module_, op.regions[1]);
  executable_->spins = executable_->spins || spins;
  Emit<LoopBack>({}, {}, {}, spins).target = begin;
  registers_.AddLoop(first, Position() - 1);
  Place(end);
  for (size_t i = 0; i < op.results.size(); ++i) Define(op.results[i], Use(condition.operands[i + 1]));
}

Lowering::LoweredRegion Lowering::LowerRegion(const Operation& op, size_t lanes,
                                              const std::vector<Register>& busy) {
  const Block& block = op.regions[0].blocks[0];
  LoweredRegion region;
  region.vector = IsStraight(op.regions[0]);
  const bool was_in_region = std::exchange(in_region_, true);
  const bool was_vector = std::exchange(in_vector_region_, region.vector);
  const size_t outer_lanes = std::exchange(region_lanes_, region.vector ? lanes : 1);
  const int skip = NewLabel();
  Emit<Jump>({}, {}, {}).target = skip;
  region.begin = NewLabel();
  Place(region.begin);
  const int first = Position();
  for (Register reg : busy) registers_.Touch(reg, first);
  for (ValueId argument : block.arguments) {
    const Operand operand{NewTile(TypeOf(argument).elem, region.vector ? kRegionLanes : 1), !region.vector};
    registers_.Touch(operand.reg, first);
    Define(argument, operand);
    region.arguments.push_back(operand);
  }
  if (op.regions[0].blocks.size() > 1) {
    region.results = NewVariables(Terminator(op.regions[0].blocks.back()).operands);
    LowerBlocks(op.regions[0], region.arguments, region.results);
  } else {
    LowerBlock(block);
    line_ = op.line;
    for (ValueId result : Terminator(block).operands)
      region.results.push_back({Full(result), !region.vector});
  }
  registers_.AddLoop(first, Position());
  Place(skip);
  in_region_ = was_in_region;
  in_vector_region_ = was_vector;
  region_lanes_ = outer_lanes;
  return region;
}

}  // namespace tritogen::tile
