#include "teach/recurrent_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "teach/count_text.h"

namespace tritogen::teach {

const Cell& CellNamed(const std::string& name) {
  static const std::map<std::string, Cell> cells = {
      {"rnn_tanh", {{"n"}, {"h = libdevice.tanh({i0} + {h0})"}}},
      {"rnn_relu", {{"n"}, {"n = {i0} + {h0}", "h = tl.where(n < 0, 0.0, n)"}}},
      {"lstm",
       {{"i", "f", "g", "o"},
        {"i = 1.0 / (1.0 + tl.exp(-({i0} + {h0})))", "f = 1.0 / (1.0 + tl.exp(-({i1} + {h1})))",
         "g = libdevice.tanh({i2} + {h2})", "o = 1.0 / (1.0 + tl.exp(-({i3} + {h3})))", "c = f * c + i * g",
         "h = o * libdevice.tanh(c)"}}},
      {"gru",
       {{"r", "z", "n"},
        {"r = 1.0 / (1.0 + tl.exp(-({i0} + {h0})))", "z = 1.0 / (1.0 + tl.exp(-({i1} + {h1})))",
         "n = libdevice.tanh({i2} + r * ({h2}))", "h = n + z * (h - n)"}}}};
  return cells.at(name);
}

std::vector<std::string> CellLines(const Cell& cell, const std::vector<std::string>& input_parts,
                                   const std::vector<std::string>& state_parts) {
  std::vector<std::string> lines;
  for (std::string line : cell.lines) {
    auto fill = [&](char side, size_t gate, const std::string& text) {
      const std::string hole = fmt::format("{{{}{}}}", side, gate);
      if (const size_t at = line.find(hole); at != std::string::npos) line.replace(at, hole.size(), text);
    };
    for (size_t gate = 0; gate < cell.gates.size(); ++gate) {
      fill('i', gate, input_parts[gate]);
      fill('h', gate, state_parts[gate]);
    }
    lines.push_back(line);
  }
  return lines;
}

std::string StridedPlace(const Graph& graph, TileCode& code, const View& view,
                         const std::vector<std::string>& indices, int64_t further) {
  std::string text = code.Pointer(view.prim);
  const std::vector<int64_t>& shape = graph[view.prim].Shape();
  // Every load is masked, and a mask of many elements needs an address of many.
  if (std::ranges::all_of(view.strides, [](int64_t stride) { return stride == 0; }))
    text += fmt::format(" + {} * 0", indices.back());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].empty() || view.strides[i] == 0) continue;
    text += " + " + indices[i];
    if (view.strides[i] != 1) text += " * " + StrideText(shape, view.strides[i]);
  }
  for (const std::string& term : PlaceTerms(shape, view.offset + further)) text += " + " + term;
  return text;
}

std::string LoadOperand(const Prim& prim, size_t operand, const std::string& place, const std::string& mask) {
  return Converted(fmt::format("tl.load({}, mask={}, other=0.0)", place, mask), prim.compute[operand],
                   Dtype::kFloat32);
}

bool HasBias(const Prim& prim) {
  return prim.operands.size() == (prim.expr == "lstm" ? 5u : 4u);
}

}  // namespace tritogen::teach
