#include "teach/attention.h"

#include <algorithm>
#include <limits>
#include <set>

#include "teach/expression.h"
#include "teach/kernel.h"

namespace tritogen::teach {
namespace {

using Kind = Expression::Kind;

constexpr size_t kMostWork = 24;  // pointwise steps between the scores and the softmax
constexpr int64_t kLargestHead = 128, kLargestHalf = 256;  // numbers of a head that registers have room for
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<Expression> ExpressionOf(const Prim& prim) {
  return prim.kind == PrimKind::kPointwise ? ParseExpression(prim.expr) : std::nullopt;
}

// A value for each row, the same in all columns, which are the last dimension.
bool IsOfRows(const View& view) {
  return view.rank() > 0 && view.strides.back() == 0 && view.guards.empty() &&
         Select(view, -1, 0).IsContiguous();
}

struct Sizes {
  int64_t batch = 1, m = 1, n = 1;
  bool operator==(const Sizes&) const = default;
};
Sizes SizesOf(const Prim& product) {
  Sizes sizes{1, 1, product.sizes.back()};
  for (size_t i = 0; i + 1 < product.sizes.size(); ++i)
    (static_cast<int>(i) < product.batch_dims ? sizes.batch : sizes.m) *= product.sizes[i];
  return sizes;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(graph.prims.size()) {
    constexpr PrimId kOutside = -1;
    for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
      for (const View& view : graph[id].operands) {
        if (view.prim >= 0) readers_[view.prim].insert(id);
      }
    }
    for (const View& view : graph.outputs) {
      if (view.prim >= 0) readers_[view.prim].insert(kOutside);
    }
    for (const Graph::Write& write : graph.writes) readers_[write.value].insert(kOutside);
  }

  std::optional<Attention> EndingIn(PrimId id) const {
    const Prim& product = graph_[id];
    if (product.kind != PrimKind::kMatmul || product.parts != 1) return std::nullopt;
    Attention found;
    found.result = id;
    if (!Softmax(product.operands[0], product.inner, &found)) {
      found.gone.clear();
      found.plain = true;
      const auto weights = Uncast(product.operands[0], &found);
      if (!weights) return std::nullopt;
      found.weighed = *weights;
    }
    found.scores = ScoresOf(found.weighed, product);
    if (found.scores < 0 || !Holds(graph_[found.scores], product)) return std::nullopt;
    if (found.plain && !IsWorthIt(found)) return std::nullopt;
    std::set<PrimId> inside(found.gone.begin(), found.gone.end());
    inside.insert(id);
    if (!IsWork(found.weighed, found.scores, &inside)) return std::nullopt;
    for (PrimId each : inside) {  // who reads what is not there any more?
      const auto in = [&](PrimId reader) { return inside.count(reader) > 0; };
      if (each != id && !std::all_of(readers_[each].begin(), readers_[each].end(), in)) return std::nullopt;
    }
    return found;
  }

 private:
  std::optional<View> Operand(const View& view, const Expression& e) const {
    if (!e.IsOperand() || e.operand >= graph_[view.prim].operands.size()) return std::nullopt;
    return Compose(view, graph_[view.prim].operands[e.operand]);
  }

  // Behind copies and casts between floating-point types.
  std::optional<View> Uncast(View view, Attention* found) const {
    while (view.prim >= 0) {
      const auto e = ExpressionOf(graph_[view.prim]);
      const Expression* of = e && e->kind == Kind::kCast ? &e->in[0] : e ? &*e : nullptr;
      if (of == nullptr || !of->IsOperand() || !IsFloating(graph_[view.prim].dtype)) return view;
      auto behind = Operand(view, *of);
      if (!behind) return std::nullopt;
      found->gone.push_back(view.prim);
      view = *behind;
    }
    return std::nullopt;
  }

  // `view` reads, row by row, softmaxes of rows of `columns` numbers.
  bool Softmax(const View& view, int64_t columns, Attention* found) const {
    auto weights = Uncast(view, found);
    if (!weights) return false;
    auto e = ExpressionOf(graph_[weights->prim]);
    std::optional<View> checked;  // the maximum that SafeWeights looks at
    if (e && e->IsCall("tl.where", 3) && e->in[0].IsBinary("==") && e->in[0].in[1].IsNumber(-kInfinity) &&
        e->in[1].IsNumber(0)) {
      checked = Operand(*weights, e->in[0].in[0]);
      found->gone.push_back(weights->prim);
      weights = Operand(*weights, e->in[2]);
      if (!checked || !weights || weights->prim < 0) return false;
      found->safe = true;
      e = ExpressionOf(graph_[weights->prim]);
    }
    if (!e || !e->IsBinary("/")) return false;
    auto exponentials = Operand(*weights, e->in[0]), sum = Operand(*weights, e->in[1]);
    found->gone.push_back(weights->prim);
    if (!exponentials || !sum || exponentials->prim < 0) return false;
    e = ExpressionOf(graph_[exponentials->prim]);
    if (!e || !e->IsCall("tl.exp", 1) || !IsOfRow(ReduceOp::kSum, *sum, *exponentials, columns)) return false;
    auto shifted = Operand(*exponentials, e->in[0]);
    if (!shifted || shifted->prim < 0) return false;
    e = ExpressionOf(graph_[shifted->prim]);
    if (!e || !e->IsBinary("-")) return false;
    auto x = Operand(*shifted, e->in[0]), maximum = Operand(*shifted, e->in[1]);
    if (!x || !maximum || x->prim < 0) return false;
    if (!IsOfRow(ReduceOp::kLargest, *maximum, *x, columns) &&
        !IsOfRow(ReduceOp::kMax, *maximum, *x, columns))
      return false;
    if (checked && checked->prim != maximum->prim) return false;
    found->gone.insert(found->gone.end(), {exponentials->prim, sum->prim, shifted->prim, maximum->prim});
    found->weighed = *x;
    return true;
  }

  // `reduced` is a reduction of each row of what `of` reads.
  bool IsOfRow(ReduceOp op, const View& reduced, const View& of, int64_t columns) const {
    if (reduced.prim < 0 || !IsOfRows(reduced)) return false;
    const Prim& prim = graph_[reduced.prim];
    if (prim.kind != PrimKind::kReduce || prim.reduce != op || prim.space.empty()) return false;
    for (size_t i = 0; i < prim.space.size(); ++i) {
      const bool last = i + 1 == prim.space.size();
      if (prim.space[i] > 1 && prim.reduced[i] != last) return false;
    }
    return prim.space.back() == columns && ReadAlike(prim.operands[0], of);
  }

  // The product that pointwise work makes what `view` reads from, element by element.
  PrimId ScoresOf(const View& view, const Prim& result) const {
    std::vector<View> pending = {view};
    for (size_t steps = 0; !pending.empty() && steps < 4 * kMostWork; ++steps) {
      const View next = pending.back();
      pending.pop_back();
      if (next.prim < 0) continue;
      const Prim& prim = graph_[next.prim];
      const Sizes sizes = SizesOf(result);
      if (prim.kind == PrimKind::kMatmul && prim.parts == 1 && FitsDot(prim.compute[0]) &&
          ReadAlike(next, graph_.Whole(next.prim)) &&
          SizesOf(prim) == Sizes{sizes.batch, sizes.m, result.inner})
        return next.prim;
      if (prim.kind != PrimKind::kPointwise) continue;
      for (size_t i = prim.operands.size(); i-- > 0;) {
        if (auto through = ComposeFinely(next, prim.operands[i])) pending.push_back(*through);
      }
    }
    return -1;
  }

  // Whether a tile of scores can be made into the same tile of what `view` reads.
  bool IsWork(const View& view, PrimId scores, std::set<PrimId>* inside) const {
    inside->insert(view.prim);
    if (view.prim == scores) return ReadAlike(view, graph_.Whole(scores));
    const Prim& prim = graph_[view.prim];
    if (prim.kind != PrimKind::kPointwise || prim.once || inside->size() > kMostWork) return false;
    for (const View& operand : prim.operands) {
      auto through = ComposeFinely(view, operand);
      if (!through) return false;
      if (LeadsTo(graph_, operand.prim, scores) && !IsWork(*through, scores, inside)) return false;
    }
    return true;
  }

  // Without a softmax two products may be many things: attention is one of batches with keys and values of
  // their own, of more keys than a head has numbers, and does something to the scores.
  bool IsWorthIt(const Attention& found) const {
    constexpr int64_t kFewQueries = 16;
    const Prim &scores = graph_[found.scores], &result = graph_[found.result];
    const auto has_own = [](const Prim& product) {
      const std::vector<int64_t>& strides = product.operands[1].strides;
      return std::any_of(strides.begin(), strides.begin() + product.batch_dims,
                         [](int64_t s) { return s != 0; });
    };
    return found.weighed.prim != found.scores && result.RowsOfBatch() >= kFewQueries && has_own(scores) &&
           has_own(result) && result.inner >= std::max(scores.inner, result.sizes.back());
  }

  // Rows of keys, queries and results in registers.
  bool Holds(const Prim& scores, const Prim& result) const {
    const bool half = scores.compute[0] != Dtype::kFloat32 && result.compute[1] != Dtype::kFloat32;
    const int64_t head = NextPowerOf2(std::max(scores.inner, result.sizes.back()));
    return FitsDot(result.compute[1]) && head <= (half ? kLargestHalf : kLargestHead);
  }

  const Graph& graph_;
  std::vector<std::set<PrimId>> readers_;
};

// Scores are made by the kernel that weighs with them, so what another attention results in are none. Of two
// such, the one with a softmax stays; else the later one.
std::vector<Attention> OneForEachProduct(const std::vector<Attention>& all) {
  std::vector<Attention> kept;
  for (const Attention& one : all) {
    const bool gives_way = std::ranges::any_of(all, [&](const Attention& other) {
      return (other.scores == one.result && (one.plain || !other.plain)) ||
             (other.result == one.scores && !other.plain && one.plain);
    });
    if (!gives_way) kept.push_back(one);
  }
  return kept;
}

}  // namespace

PrimId ScoresBehind(const Graph& graph, PrimId id) {
  if (id < 0) return -1;
  const Prim& prim = graph[id];
  if (prim.kind == PrimKind::kMatmul) return prim.inlined ? id : -1;
  if (prim.kind != PrimKind::kPointwise) return -1;
  for (const View& operand : prim.operands) {
    if (const PrimId scores = ScoresBehind(graph, operand.prim); scores >= 0) return scores;
  }
  return -1;
}

bool LeadsTo(const Graph& graph, PrimId id, PrimId from) {
  if (id == from) return true;
  if (id < from || graph[id].kind != PrimKind::kPointwise) return false;  // operands come before their users
  return std::any_of(graph[id].operands.begin(), graph[id].operands.end(),
                     [&](const View& operand) { return LeadsTo(graph, operand.prim, from); });
}

std::vector<Attention> FindAttention(const Graph& graph) {
  const Finder finder(graph);
  std::vector<Attention> all;
  for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
    auto found = finder.EndingIn(id);
    if (!found) continue;
    const Sizes sizes = SizesOf(graph[id]);
    if (SplitIntoAxes(found->weighed, {sizes.batch, sizes.m, graph[id].inner}))
      all.push_back(*std::move(found));
  }
  return OneForEachProduct(all);
}

}  // namespace tritogen::teach
