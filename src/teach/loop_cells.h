// Cells of recurrent layers in a program: what LSTMCell, GRUCell and RNNCell are made of, and what people
// write in their place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "teach/program_edit.h"

namespace tritogen::teach {

// Rows of a matrix of weights (rows, columns), some of its columns; or elements of a bias (then `columns` is
// 0). `turned`: the tensor is (columns, rows).
struct WeightPart {
  NodeRef of{-1, 0};
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  bool turned = false;
  bool operator==(const WeightPart&) const = default;
};

// What a cell multiplies by weights: its input or its state. By gate.
struct CellSource {
  NodeRef value{-1, 0};
  std::vector<WeightPart> weights;
  std::vector<std::optional<WeightPart>> biases;
};

struct LoopCell {
  std::string op;  // "lstm", "gru", "rnn_tanh", "rnn_relu"
  int64_t batch = 0, size = 0;
  NodeRef hidden{-1, 0}, cell{-1, 0};  // that it makes; the cell only of an LSTM
  NodeRef cell_before{-1, 0};
  std::vector<CellSource> sources;  // the state and one input or more
  int state = -1;                   // which of them is the state, where the cell itself says so
};

// The cell whose next state this is. Adds what inputs of products are that a program makes of all steps
// beforehand.
std::optional<LoopCell> CellOf(ProgramEdit& edit, NodeRef hidden);

}  // namespace tritogen::teach
