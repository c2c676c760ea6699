// What the two kernels of recurrent layers share: the cells, and how a kernel reads and writes by strides.
#pragma once

#include <string>
#include <vector>

#include "teach/tile_code.h"

namespace tritogen::teach {

// The gates of a cell in PyTorch's order, and what makes the next state of them.
struct Cell {
  std::vector<const char*> gates;
  std::vector<const char*> lines;  // {i0}, {h0}: the input's and the state's part of gate 0
};

// "lstm", "gru", "rnn_tanh", "rnn_relu".
const Cell& CellNamed(const std::string& name);

// The cell's lines with the parts of its gates put in.
std::vector<std::string> CellLines(const Cell& cell, const std::vector<std::string>& input_parts,
                                   const std::vector<std::string>& state_parts);

// "x_ptr + rows * 64 + cols": the element at these indices, one for each of the view's dimensions (empty: 0),
// and `further` behind it.
std::string StridedPlace(const Graph& graph, TileCode& code, const View& view,
                         const std::vector<std::string>& indices, int64_t further = 0);

// An operand's elements at a place, in float32; zero outside of the mask.
std::string LoadOperand(const Prim& prim, size_t operand, const std::string& place, const std::string& mask);

// Biases are the last operand of a recurrent prim, where there are any.
bool HasBias(const Prim& prim);

}  // namespace tritogen::teach
