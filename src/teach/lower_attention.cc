// Attention as one prim: found where everything else has been taken apart, so that it may be written as a
// call, by hand, or by an operator's parts.
#include <algorithm>
#include <limits>

#include "teach/attention.h"
#include "teach/expression.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// "* 64 ** -0.5" of "{0} * 64 ** -0.5"; nothing for what is no operand times, or divided by, a positive
// number.
std::string FactorOf(const Prim& prim) {
  const auto e = ParseExpression(prim.expr);
  const bool factor = e && (e->IsBinary("*") || e->IsBinary("/")) && e->in[0].IsOperand() &&
                      e->in[1].kind == Expression::Kind::kNumber && e->in[1].number > 0 &&
                      e->in[1].number < kInfinity && prim.expr.starts_with("{0} ");
  return factor ? prim.expr.substr(4) : "";
}

// The factor of scores that are multiplied first, and then at most replaced by -inf here and there: it can
// wait until the softmax, whose exponents are multiplied anyway. They are not multiplied before then.
std::string TakeFactor(Graph& graph, const Attention& found) {
  for (PrimId id = found.weighed.prim; id != found.scores;) {
    Prim& prim = graph.prims[id];
    if (std::string factor = FactorOf(prim); !factor.empty()) {
      if (prim.operands[0].prim != found.scores) return "";
      prim.expr = "{0}";
      return factor;
    }
    const auto e = ParseExpression(prim.expr);
    const Expression* kept = nullptr;
    if (e && e->IsOperand()) kept = &*e;
    if (e && e->IsCall("tl.where", 3)) {
      if (e->in[1].IsNumber(-kInfinity)) kept = &e->in[2];
      if (e->in[2].IsNumber(-kInfinity)) kept = &e->in[1];
    }
    if (kept == nullptr || !kept->IsOperand()) return "";
    // A choice that looks at the scores looks at them as they were.
    for (size_t i = 0; i < prim.operands.size(); ++i) {
      if ((i == kept->operand) != LeadsTo(graph, prim.operands[i].prim, found.scores)) return "";
    }
    id = prim.operands[kept->operand].prim;
  }
  return "";
}

bool MayHoldAttention(const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [](const Node& node) {
    const auto has = [&](std::string_view name) { return node.op.find(name) != std::string::npos; };
    return has("softmax") || has("attention") || has("::exp");
  });
}

}  // namespace

std::vector<NodeId> AttentionOf(const Program& program) {
  if (!MayHoldAttention(program)) return {};
  const auto graph = Lower(program, {.split_reductions = false});
  if (!graph) return {};
  std::vector<NodeId> nodes;
  for (const Attention& found : FindAttention(*graph)) {
    std::vector<PrimId> prims = found.gone;
    prims.insert(prims.end(), {found.scores, found.result});
    for (PrimId id : prims) nodes.push_back((*graph)[id].line);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

bool Builder::InAttention() const {
  return std::binary_search(options_.attention.begin(), options_.attention.end(), node);
}

void Builder::JoinAttention() {
  if (options_.attention.empty()) return;
  for (const Attention& found : FindAttention(graph)) {
    Prim& result = graph.prims[found.result];
    Prim& scores = graph.prims[found.scores];
    const int64_t rows = Product(result.sizes) / result.sizes.back();
    const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(result.inner);
    const double all = flops * static_cast<double>(scores.inner + result.sizes.back());
    for (Prim* product : {&scores, &result}) {
      if (!StoresFactors(product->compute.back(), all)) continue;
      product->tf32 = options_.UsesTf32();
      if (!product->tf32) product->parts = kParts;
    }
    int64_t batch = 1;
    for (int i = 0; i < result.batch_dims; ++i) batch *= result.sizes[i];
    result.ahead = KeysAhead(graph, found.weighed, batch, rows / batch, result.inner);
    result.kind = PrimKind::kAttention;
    result.name = result.origin = "attention";
    result.operands[0] = found.weighed;
    result.expr = TakeFactor(graph, found);
    if (found.safe) result.other = "0.0";
    for (PrimId id : found.gone) {
      const NodeId line = graph[id].line;
      if (line != result.line && std::count(result.also.begin(), result.also.end(), line) == 0)
        result.also.push_back(line);
    }
    scores.inlined = true;
  }
  graph.RemoveUnused();
}

}  // namespace tritogen::teach
