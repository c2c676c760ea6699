#include "tile/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "tile/lanes/memory.h"
#include "tile/lower_frame.h"
#include "tile/machine.h"

namespace tritogen::tile {
namespace {

// One element for all lanes → a tile.
class Spread final : public Instruction {
 public:
  Spread(int size, size_t lanes) : size_(size), lanes_(lanes) {}
  void Run(Context& c) const override {
    lanes::Memory().fill(operand(c, 0), size_, result(c), lanes_ == kRegionLanes ? c.region_lanes : lanes_);
  }

 private:
  int size_;
  size_t lanes_;
};

// The program's threads meet.
class Meet final : public Instruction {
 public:
  void Run(Context& c) const override { c.launch->MeetLanes(c); }
};

constexpr size_t kMaxFullConstant = 64 << 10;  // bytes of a splat constant that is kept as a whole tile

std::vector<Parameter> PublicParameters(const Function& kernel) {
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Type& type = kernel.values[kernel.parameters[i]];
    Parameter parameter{Parameter::Kind::kInteger, 64, 0};
    if (type.elem == Elem::kPtr) {
      parameter.kind = Parameter::Kind::kPointer;
    } else if (type.elem == Elem::kDesc) {
      parameter.kind = Parameter::Kind::kDescriptor;
      parameter.rank = static_cast<int>(type.shape.size());
    } else {
      parameter.kind = IsFloat(type.elem) ? Parameter::Kind::kFloat : Parameter::Kind::kInteger;
      parameter.bits = ElemBits(type.elem);
    }
    parameters.push_back(parameter);
  }
  return parameters;
}

}  // namespace

Lowering::Lowering(const Module& module) : module_(module), executable_(std::make_shared<Executable>()) {}

std::shared_ptr<const Executable> Lowering::Run() {
  const Function& kernel = module_.kernel();
  executable_->name = kernel.name;
  executable_->features = FindFeatures(module_);
  LowerParameters(kernel);
  std::vector<Operand> arguments;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) arguments.push_back({parameters_[i], true});
  std::vector<Operand> no_results;
  LowerBody(kernel, arguments, &no_results);
  for (auto& instruction : executable_->code) {
    if (instruction->target >= 0) instruction->target = label_positions_[instruction->target];
  }
  FindReadResults(*executable_, registers_.count());
  FindProvenance(*executable_, parameters_, registers_.count());
  executable_->arena_bytes = registers_.Layout(executable_->code);
  executable_->image = registers_.TakeImage();
  for (Register parameter : parameters_)
    executable_->parameter_offsets.push_back(registers_.offsets()[parameter]);
  return executable_;
}

void Lowering::LowerParameters(const Function& kernel) {
  executable_->public_parameters = PublicParameters(kernel);
  for (ValueId id : kernel.parameters) {
    const Type& type = kernel.values[id];
    if (type.is_tensor()) throw TtirError(kernel.ttir_line, "a kernel cannot take a tensor by value", true);
    executable_->parameters.push_back(type);
    parameters_.push_back(registers_.NewArgument(RegisterBytes(type.elem)));
  }
}

Operand Lowering::Use(ValueId value) const {
  return frame_->values[value];
}
void Lowering::Define(ValueId value, Operand operand) {
  frame_->values[value] = operand;
}

VectorAccess Lowering::VectorOf(const Operation& op) const {
  const auto found = frame_->hinted->find(&op);
  return found == frame_->hinted->end() ? VectorAccess{} : found->second;
}

Register Lowering::Full(ValueId value) {
  const Type& type = TypeOf(value);
  return Full(Use(value), type.elem, LanesOf(type));
}

Register Lowering::Full(Operand operand, Elem elem, size_t lanes) {
  if (!operand.uniform || lanes == 1) return operand.reg;
  const size_t bytes = RegisterBytes(elem) * lanes;
  if (lanes != kRegionLanes && bytes <= kMaxFullConstant && registers_.is_constant(operand.reg)) {
    std::vector<std::byte> tile(bytes);
    const std::vector<std::byte> element = registers_.ConstantBytes(operand.reg);
    for (size_t i = 0; i < lanes; ++i)
      std::memcpy(&tile[i * RegisterBytes(elem)], element.data(), RegisterBytes(elem));
    return Constant(tile.data(), tile.size());
  }
  const Register tile = NewTile(elem, lanes);
  Emit<Spread>({tile}, {operand.reg}, {}, static_cast<int>(RegisterBytes(elem)), lanes);
  return tile;
}

void Lowering::Append(std::unique_ptr<Instruction> instruction, const std::vector<Register>& results,
                      const std::vector<Register>& operands, const std::vector<Register>& scratch) {
  instruction->line = line_;
  instruction->results = static_cast<int>(results.size());
  instruction->operands = static_cast<int>(operands.size());
  instruction->registers = results;
  instruction->registers.insert(instruction->registers.end(), operands.begin(), operands.end());
  instruction->registers.insert(instruction->registers.end(), scratch.begin(), scratch.end());
  executable_->code.push_back(std::move(instruction));
}

void Lowering::Unsupported(const Operation& op, const std::string& why) const {
  throw TtirError(op.ttir_line, fmt::format("{}: {}", OpName(op.code), why), true);
}

bool Lowering::ThreadsMeet(const Operation& op) const {
  switch (op.code) {
    case OpCode::kBarrier:
    case OpCode::kReduce:
    case OpCode::kScan:
    case OpCode::kDot:
    case OpCode::kDotScaled:
    case OpCode::kReshape:
    case OpCode::kTrans:
    case OpCode::kJoin:
    case OpCode::kSplit:
    case OpCode::kCat:
    case OpCode::kGather:
    case OpCode::kHistogram:
    case OpCode::kDescLoad:
    case OpCode::kDescStore:
    case OpCode::kDescReduce:
    case OpCode::kDescGather:
    case OpCode::kDescScatter:
      return true;
    default:
      return false;
  }
}

void Lowering::LowerOperation(const Operation& op) {
  line_ = op.line;
  switch (op.code) {
    case OpCode::kCall:
      return LowerCall(op);
    case OpCode::kReturn:
    case OpCode::kMapReturn:
      return LowerReturn(op);
    case OpCode::kBr:
    case OpCode::kCondBr:
      return LowerBranch(op);
    case OpCode::kFor:
      return LowerFor(op);
    case OpCode::kIf:
      return in_vector_region_ ? LowerIfAsSelect(op) : LowerIf(op);
    case OpCode::kWhile:
      return LowerWhile(op);
    default:
      break;
  }
  using Family = bool (*)(Lowering&, const Operation&);
  static constexpr Family kInRegions[] = {LowerElementwise, LowerShape, LowerAssert};
  static constexpr Family kOutside[] = {LowerMemory,     LowerAtomic, LowerDescriptor,
                                        LowerCollective, LowerDot,    LowerMisc};
  const auto knows = [&](Family family) { return family(*this, op); };
  if (!std::ranges::any_of(kInRegions, knows)) {
    if (in_region_) Unsupported(op, "not possible inside a combine function on the CPU");
    if (!std::ranges::any_of(kOutside, knows))
      Unsupported(op, "the tile machine does not know this operation");
  }
  if (!in_region_ && ThreadsMeet(op)) Emit<Meet>({}, {}, {});
}

}  // namespace tritogen::tile
