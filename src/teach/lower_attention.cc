// Attention as one prim: found where everything else has been taken apart, so that it may be written as a
// call, by hand, or by an operator's parts.
#include <algorithm>
#include <limits>
#include <numeric>

#include "teach/attention.h"
#include "teach/expression.h"
#include "teach/lowering.h"
#include "teach/partition.h"

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

// A product's second factor, its dimensions as digits of its three axes.
struct SharedFactor {
  View view;
  std::vector<std::vector<Digit>> axes;
  // Of how many batches that follow each other it is the same.
  int64_t Times() const {
    return axes.empty() || axes[0].empty() || axes[0].back().stride != 0 ? 1 : axes[0].back().size;
  }
  // Once for so many batches.
  View Once(int64_t times) const {
    View once{view.prim, view.offset, {}, {}, {}};
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      for (const Digit& digit : axes[axis]) {
        const bool shared = axis == 0 && &digit == &axes[0].back();
        once.sizes.push_back(shared ? digit.size / times : digit.size);
        once.strides.push_back(digit.stride);
      }
    }
    return once;
  }
};

SharedFactor SecondFactor(const Graph& graph, const Prim& product, int64_t batch) {
  View view = product.operands[1];
  while (const auto behind = BehindCopy(graph, view, /*finely=*/true)) view = *behind;
  if (!view.guards.empty()) return {};
  const int64_t columns = product.sizes.back();
  return {view,
          SplitIntoAxes(view, {batch, product.inner, columns}).value_or(std::vector<std::vector<Digit>>{})};
}

// So many batches at a time become rows. False where sizes do not allow it.
bool MakeRows(Prim& product, int64_t times) {
  std::vector<int64_t> sizes = product.sizes;
  int batch_dims = product.batch_dims;
  while (times > 1) {
    if (batch_dims == 0) return false;
    int64_t& size = sizes[--batch_dims];
    if (times % size == 0) {
      times /= size;
    } else if (size % times == 0) {
      size /= times;
      sizes.insert(sizes.begin() + ++batch_dims, times);
      times = 1;
    } else {
      return false;
    }
  }
  product.shape = product.Shape();
  product.sizes = std::move(sizes);
  product.batch_dims = batch_dims;
  return true;
}

// Where queries are few, those of heads that share keys and values are rows of one tile instead of batches:
// keys are read once for all of them.
void ShareKeys(Graph& graph, const Attention& found) {
  constexpr int64_t kFewQueries = 16;
  Prim scores = graph[found.scores], result = graph[found.result];
  const int64_t batch = result.Batches(), queries = result.RowsOfBatch();
  if (queries >= kFewQueries) return;
  const SharedFactor keys = SecondFactor(graph, scores, batch), values = SecondFactor(graph, result, batch);
  const int64_t times = std::gcd(keys.Times(), values.Times()), rows = times * queries;
  if (times == 1 || !SplitIntoAxes(scores.operands[0], {batch / times, rows, scores.inner}) ||
      !SplitIntoAxes(found.weighed, {batch / times, rows, result.inner}) || !MakeRows(scores, times) ||
      !MakeRows(result, times))
    return;
  scores.operands[1] = keys.Once(times);
  result.operands[1] = values.Once(times);
  graph.prims[found.scores] = std::move(scores);
  graph.prims[found.result] = std::move(result);
}

bool MayHoldAttention(const Program& program) {
  int products = 0;
  for (const Node& node : program.nodes) {
    const auto has = [&](std::string_view name) { return node.op.find(name) != std::string::npos; };
    if (has("softmax") || has("attention") || has("::exp")) return true;
    products += has("matmul") || has("bmm") ? 1 : 0;
  }
  return products > 1;  // of batches
}

}  // namespace

std::vector<NodeId> AttentionOf(const Program& program) {
  if (!MayHoldAttention(program)) return {};
  const auto graph = Lower(program, {.cuts = LowerOptions::Cuts::kNone, .keep_rows = true});
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
    ShareKeys(graph, found);
    Prim& result = graph.prims[found.result];
    Prim& scores = graph.prims[found.scores];
    const int64_t rows = Product(result.sizes) / result.sizes.back();
    const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(result.inner);
    const double all = flops * static_cast<double>(scores.inner + result.sizes.back());
    for (Prim* product : {&scores, &result}) {
      if (!StoresFactors(product->compute.back(), all)) continue;
      product->tf32 = options_.UsesTf32() && options_.fp32_precision == Fp32Precision::kTf32;
      if (!product->tf32) product->parts = kParts;
    }
    const int64_t batch = result.Batches(), queries = result.RowsOfBatch();
    for (Prim* product : {&scores, &result}) {
      if (IsHalf(product->compute[1]) && !FewRead(queries))
        StoreComputed({product->operands[1], product->compute[1]});
    }
    const auto ahead = found.plain ? KeptAhead : KeysAhead, behind = found.plain ? KeptBehind : KeysBehind;
    result.ahead = ahead(graph, found.weighed, batch, queries, result.inner);
    result.behind = behind(graph, found.weighed, batch, queries, result.inner);
    result.kind = PrimKind::kAttention;
    result.name = result.origin = "attention";
    result.operands[0] = found.weighed;
    result.plain = found.plain;
    if (!found.plain) result.expr = TakeFactor(graph, found);
    if (found.safe) result.other = "0.0";
    for (PrimId id : found.gone) {
      const NodeId line = graph[id].line;
      if (line != result.line && std::count(result.also.begin(), result.also.end(), line) == 0)
        result.also.push_back(line);
    }
    scores.inlined = true;
  }
  graph.RemoveUnused();
  if (options_.cuts == LowerOptions::Cuts::kAnywhere) CutAttention();
}

}  // namespace tritogen::teach
