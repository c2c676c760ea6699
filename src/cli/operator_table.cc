#include "cli/operator_table.h"

#include <fmt/format.h>

#include "program/catalogue.h"
#include "synth/sampler.h"

namespace tritogen {
namespace {

// The function alone, without the column's notes on parameters.
std::string Spelling(const OpRow& row) {
  if (row.torch.empty()) return "torch.ops.aten." + row.name;
  if (row.torch == "[]") return "x[:, a:b:c]";
  const std::string function = row.torch.substr(0, row.torch.find('('));
  return function.starts_with('.') ? "x" + function : function;
}

}  // namespace

std::string OperatorTable() {
  std::string table;
  size_t drawn = 0;
  for (const OpRow& row : Catalogue()) {
    const bool draws = synth::Drawable(row);
    drawn += draws;
    table += fmt::format("{:<34} {:<11} {}{}\n", row.name, ClassName(row.kind), Spelling(row),
                         draws ? "" : "  (not drawn by synth)");
  }
  return table + fmt::format("{} operators, of which synth draws {}\n", Catalogue().size(), drawn);
}

std::string OperatorDetails(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    const OpRow& row = synth::OperatorNamed(name);
    text += fmt::format("{}: {}, written {}{}\n", row.name, ClassName(row.kind), Spelling(row),
                        synth::Drawable(row) ? "" : ", not drawn by synth");
    for (const Signature& signature : row.signatures) text += fmt::format("  aten::{}\n", signature.schema);
  }
  return text;
}

}  // namespace tritogen
