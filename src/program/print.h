// Prints a Program as PyTorch.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tritogen {

// The canonical program: a flat function `program(inputs…, parameters…, buffers…, constants…)` in plain
// PyTorch, one operation a line, dtype and shape of each result in a comment. Running it gives what the
// recorded program gives; an output that is no tensor (NodeRef{-1}) is None.
std::string PrintProgram(const Program& program);

// The text of PrintProgram in parts: programs that are alike but for sizes share them, so that a text of the
// next one costs its shapes (synth/mould.h). Keeps a reference to the program.
class TextParts {
 public:
  explicit TextParts(const Program& program);
  // Makes the line of a node again, whose arguments changed.
  void Update(size_t node);
  // `shapes` appends what stands for the results of a node: "float32[4], int64[4]".
  std::string Text(const std::function<void(size_t node, std::string* text)>& shapes) const;

 private:
  struct Line {
    std::string before, behind;  // of the shapes
  };
  const Program& program_;
  std::vector<std::vector<std::string>> names_;  // by node, by result
  std::vector<Line> lines_;                      // by node
  std::string head_, tail_, device_;
};

// A text of PrintProgram as a file in KernelBench's form: class Model whose forward takes the program's
// leaves, get_inputs() with an expression for each of them, get_init_inputs().
std::string ModelFile(std::string_view text, const std::vector<std::string>& inputs);

// What PrintProgram calls each result of each node.
std::vector<std::vector<std::string>> PrintedNames(const Program& program);

// "input", "parameter", "buffer" or "constant". REQUIRES: kind is not kOp.
const char* RoleOf(NodeKind kind);

// One operation as a PyTorch expression: "torch.relu(x)", "torch.ops.aten.convolution.default(x, w, …)"
// (spelling.h). `name` says what to call an operand; `device` is the expression that new tensors are made on.
// REQUIRES: node.kind is kOp.
std::string CallText(const Node& node, const std::function<std::string(NodeRef)>& name,
                     const std::string& device);

// What an assignment of the call's results has on its left: "a, b", or "a," where one must be unpacked from a
// list.
std::string TargetsText(const Node& node, const std::vector<std::string>& names);

// What the program returns, with `name` saying what its outputs are called: "(a, None)".
std::string ReturnedText(const Program& program, const std::function<std::string(NodeRef)>& name);

// The returned structure with its leaves filled in, in order: "(*, *)" and {a, b} give "(a, b)". Empty when
// the structure does not have exactly so many leaves.
std::string FillStructure(const std::string& structure, const std::vector<std::string>& leaves);

// "float32[128, 256]"
std::string ShapeText(const Shape& shape);

}  // namespace tritogen
