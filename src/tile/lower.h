// Lowering: IR → Executable. Each value becomes a register (one element when it is the same in every lane,
// else the whole tile); reshape, splat, expand_dims and bitcast are only names for the register of their
// operand. The operation families live in ops_*.cc, control flow in lower_control.cc, the arena's layout in
// registers.cc.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/axis_info.h"
#include "tile/ir.h"
#include "tile/program.h"
#include "tile/registers.h"

namespace tritogen::tile {

inline constexpr size_t kRegionLanes = 0;  // as a lane count: as many as the region that is run has

// A lowered value.
struct Operand {
  Register reg = 0;
  bool uniform = true;  // one element for all lanes
};

class Lowering {
 public:
  explicit Lowering(const Module& module);
  std::shared_ptr<const Executable> Run();

  // --- for ops_*.cc ---
  const Type& TypeOf(ValueId value) const { return function_->values[value]; }
  Operand Use(ValueId value) const;
  void Define(ValueId value, Operand operand);
  // How the access goes, where hints say so.
  VectorAccess VectorOf(const Operation& op) const;

  // Element count of a tile of the value's type, kRegionLanes inside a vectorised region.
  size_t LanesOf(const Type& type) const {
    return in_vector_region_ && !type.is_tensor() ? kRegionLanes : type.numel();
  }
  // Most lanes that a register of `lanes` lanes may have.
  size_t MaxLanes(size_t lanes) const { return lanes == kRegionLanes ? region_lanes_ : lanes; }
  // A fresh register for `lanes` elements.
  Register NewTile(Elem elem, size_t lanes) { return registers_.New(MaxLanes(lanes) * RegisterBytes(elem)); }
  Register NewScratch(size_t bytes) { return registers_.New(bytes); }
  Register Constant(const void* bytes, size_t size) { return registers_.NewConstant(bytes, size); }
  // The value as a full tile, whatever it was.
  Register Full(ValueId value);
  Register Full(Operand operand, Elem elem, size_t lanes);

  static size_t RegisterBytes(Elem elem) {
    return elem == Elem::kDesc ? sizeof(DescriptorValue) : static_cast<size_t>(ElemBytes(elem));
  }

  // Appends an instruction; results, operands and scratch are registers.
  template <class I, class... Args>
  I& Emit(const std::vector<Register>& results, const std::vector<Register>& operands,
          const std::vector<Register>& scratch, Args&&... args) {
    auto instruction = std::make_unique<I>(std::forward<Args>(args)...);
    I& emitted = *instruction;
    Append(std::move(instruction), results, operands, scratch);
    return emitted;
  }
  [[noreturn]] void Unsupported(const Operation& op, const std::string& why) const;

  // A region of scalar operations (of tt.reduce, tt.scan, tt.map_elementwise), run on `lanes` lanes at once,
  // or on one lane at a time where it holds loops, calls or branches. The instruction that runs it must be
  // the next one emitted, with the label of the region as target and all arguments and results as scratch.
  struct LoweredRegion {
    std::vector<Operand> arguments, results;  // full registers of region_lanes elements
    int begin = -1;                           // label
    bool vector = true;
  };
  // `busy`: registers that the instruction uses while the region runs.
  LoweredRegion LowerRegion(const Operation& op, size_t lanes, const std::vector<Register>& busy);

  Executable& executable() { return *executable_; }

 private:
  void Append(std::unique_ptr<Instruction> instruction, const std::vector<Register>& results,
              const std::vector<Register>& operands, const std::vector<Register>& scratch);
  void LowerParameters(const Function& kernel);
  void LowerOperation(const Operation& op);
  // A barrier, or what a compiler may put one into, since values go from thread to thread: where that is
  // open, nobody is blamed.
  bool ThreadsMeet(const Operation& op) const;

  // lower_control.cc
  struct Frame;  // one expanded function
  void LowerBody(const Function& function, const std::vector<Operand>& arguments,
                 std::vector<Operand>* results);
  // The blocks of a body or region, whose first one takes `arguments`; returns put their operands into
  // `results`.
  void LowerBlocks(const Region& region, const std::vector<Operand>& arguments,
                   const std::vector<Operand>& results);
  void LowerBlock(const Block& block);
  void LowerCall(const Operation& op);
  void LowerReturn(const Operation& op);
  void LowerBranch(const Operation& op);
  void LowerFor(const Operation& op);
  void LowerIf(const Operation& op);
  void LowerIfAsSelect(const Operation& op);
  void LowerWhile(const Operation& op);
  // Registers for values that several places write: loop-carried values, results of branches.
  std::vector<Operand> NewVariables(const std::vector<ValueId>& values);
  // Parallel assignment. `loop_begin`: position of the loop at whose end it stands, -1 elsewhere.
  void Move(const std::vector<Operand>& targets, const std::vector<ValueId>& sources, int loop_begin = -1);
  void MoveOne(Operand target, Operand source, const Type& type);
  std::vector<Type> TypesOf(const std::vector<ValueId>& values) const;

  int NewLabel();
  void Place(int label);
  int Position() const { return static_cast<int>(executable_->code.size()); }

  const Module& module_;
  std::shared_ptr<Executable> executable_;
  Registers registers_;
  std::vector<Register> parameters_;
  std::vector<int> label_positions_;

  const Function* function_ = nullptr;
  Frame* frame_ = nullptr;
  std::unordered_map<const Function*, std::vector<bool>> uniform_;  // by function, by value
  std::unordered_map<const Function*, HintedAccesses> hinted_;
  int line_ = 0;
  bool in_region_ = false;         // of tt.reduce, tt.scan, tt.map_elementwise
  bool in_vector_region_ = false;  // … and every scalar in it stands for many lanes
  size_t region_lanes_ = 1;
};

// Families. Each takes the operations it knows and returns false for the others. Throws TtirError.
bool LowerElementwise(Lowering& lowering, const Operation& op);
bool LowerShape(Lowering& lowering, const Operation& op);
bool LowerAssert(Lowering& lowering, const Operation& op);
bool LowerMemory(Lowering& lowering, const Operation& op);
bool LowerAtomic(Lowering& lowering, const Operation& op);
bool LowerDescriptor(Lowering& lowering, const Operation& op);
bool LowerCollective(Lowering& lowering, const Operation& op);
bool LowerDot(Lowering& lowering, const Operation& op);
bool LowerMisc(Lowering& lowering, const Operation& op);

// Analyses of the IR (analysis.cc).
// Which values are the same in every lane; calls and region arguments count as not.
std::vector<bool> UniformValues(const Function& function);
Features FindFeatures(const Module& module);
// Sets result_read of every memory instruction.
void FindReadResults(Executable& executable, size_t register_count);
// Sets pointer_parameters and any_buffer of every memory instruction. `parameters`: registers of the kernel's
// parameters.
void FindProvenance(Executable& executable, const std::vector<Register>& parameters, size_t register_count);

}  // namespace tritogen::tile
