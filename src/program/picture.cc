#include "program/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/catalogue.h"
#include "program/layout.h"
#include "program/print.h"

namespace tritogen {
namespace {

struct Labels {
  std::string name;   // of the function, or of the leaf
  std::string shape;  // of the first result
  std::string call;   // the whole line
};

std::vector<Labels> LabelsOf(const Program& program) {
  const std::vector<std::vector<std::string>> names = PrintedNames(program);
  std::vector<Labels> labels;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    Labels label;
    if (!node.results.empty()) label.shape = ShapeText(node.results[0]);
    if (node.kind != NodeKind::kOp) {
      label.name = label.call = names[i][0];
    } else {
      label.call = CallText(
          node, [&](NodeRef ref) { return names[ref.id][ref.result]; }, "device");
      label.name = BaseName(node.op);
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

// Fills that stay readable under black text, in print and for colour-blind readers.
std::string_view Fill(const Node& node) {
  if (node.kind == NodeKind::kInput) return "#ffffff";
  if (node.kind != NodeKind::kOp) return "#eeeeee";
  const OpRow* row = FindOp(node.op);
  if (row == nullptr) return "#ffb3b3";
  switch (row->kind) {
    case OpClass::kPointwise:
      return "#d9ecff";
    case OpClass::kReduction:
      return "#ffe2b8";
    case OpClass::kMatmul:
      return "#ffd1dc";
    case OpClass::kNorm:
      return "#e5dcff";
    case OpClass::kLayout:
      return "#e3f4e1";
    case OpClass::kCreate:
      return "#f6f2d0";
    case OpClass::kOther:
      return "#ffd9bd";
  }
  return "#ffffff";
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

std::vector<bool> Returned(const Program& program) {
  std::vector<bool> returned(program.nodes.size(), false);
  for (NodeRef ref : program.outputs) {
    if (ref.id >= 0) returned[ref.id] = true;
  }
  return returned;
}

std::string PathText(const std::vector<GraphLayout::Point>& path) {
  std::string text = fmt::format("M{:.1f},{:.1f}", path[0].x, path[0].y);
  for (size_t i = 1; i < path.size(); ++i) {
    const auto &a = path[i - 1], &b = path[i];
    const double middle = (a.y + b.y) / 2;
    text += fmt::format(" C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", a.x, middle, b.x, middle, b.x, b.y);
  }
  return text;
}

}  // namespace

std::string ToDot(const Program& program) {
  const std::vector<Labels> labels = LabelsOf(program);
  const std::vector<bool> returned = Returned(program);
  std::string text = "digraph program {\n  node [shape=box, style=\"filled\", fontname=\"Helvetica\"];\n";
  auto quoted = [](std::string text) {
    std::string out;
    for (char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  for (size_t i = 0; i < labels.size(); ++i) {
    text += fmt::format("  n{} [label=\"{}\\n{}\", fillcolor=\"{}\", tooltip=\"{}\"{}];\n", i,
                        quoted(labels[i].name), labels[i].shape, Fill(program.nodes[i]),
                        quoted(labels[i].call), returned[i] ? ", penwidth=2.5" : "");
  }
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    ForEachRef(program.nodes[i], [&](NodeRef ref) { text += fmt::format("  n{} -> n{};\n", ref.id, i); });
  }
  return text + "}\n";
}

std::string ToSvg(const Program& program) {
  constexpr double kCharacter = 7.0, kPadding = 16, kHeight = GraphLayout::kBoxHeight;
  const std::vector<Labels> labels = LabelsOf(program);
  const std::vector<bool> returned = Returned(program);
  std::vector<double> widths;
  for (const Labels& label : labels)
    widths.push_back(kPadding +
                     kCharacter * static_cast<double>(std::max(label.name.size(), label.shape.size())));
  const GraphLayout layout = LayOut(program, widths);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"11\">\n"
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" "
      "orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#666\"/></marker></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      layout.width, layout.height);
  for (const auto& edge : layout.edges)
    text += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#888\" marker-end=\"url(#tip)\"/>\n",
                        PathText(edge.path));
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto& box = layout.boxes[i];
    text += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"{}\" "
        "fill=\"{}\" "
        "stroke=\"#333\" stroke-width=\"{}\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#444\">{}</text></g>\n",
        Escaped(labels[i].call), box.x - box.width / 2, box.y, box.width, kHeight,
        program.nodes[i].kind == NodeKind::kOp ? 3 : 14, Fill(program.nodes[i]), returned[i] ? 2.5 : 1.0,
        box.x, box.y + 16, Escaped(labels[i].name), box.x, box.y + 31, Escaped(labels[i].shape));
  }
  return text + "</svg>\n";
}

}  // namespace tritogen
