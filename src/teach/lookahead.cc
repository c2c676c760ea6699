// KeysAhead and KeysBehind: what a comparison of indices says about keys that a query does not look at. The
// same of the columns of a result that are zero for a row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "teach/attention.h"
#include "teach/expression.h"

namespace tritogen::teach {
namespace {

using Kind = Expression::Kind;
using Limit = std::optional<int64_t>;  // of key − query, or of query − key

// The keys that there may be a limit to: those ahead of the query, or those behind it.
enum class Side { kAhead, kBehind };

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kNever = std::numeric_limits<int64_t>::min() / 2;  // the limit of what cannot be
constexpr int kDeepest = 16;

// What a value is to be. kLive: not -inf; kNotZero: of a number.
enum class State { kTrue, kFalse, kLive, kNotZero };

State Other(State state) {
  return state == State::kTrue ? State::kFalse : State::kTrue;
}
Limit Both(Limit a, Limit b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}
Limit Either(Limit a, Limit b) {
  return a && b ? Limit(std::max(*a, *b)) : std::nullopt;
}

// query · `query` + key · `key` + `offset`
struct Linear {
  int64_t query = 0, key = 0, offset = 0;
};

class Looker {
 public:
  Looker(const Graph& graph, Side side, int64_t batch, int64_t queries, int64_t keys)
      : graph_(graph), sign_(side == Side::kAhead ? 1 : -1), axes_{batch, queries, keys} {}

  // Where the limit is passed, the value is not in that state.
  Limit Of(const View& view, State state, int depth = 0) const {
    if (view.prim < 0 || depth > kDeepest || graph_[view.prim].kind != PrimKind::kPointwise) return {};
    const auto e = ParseExpression(graph_[view.prim].expr);
    return e ? Of(*e, view, state, depth) : Limit{};
  }

  // See ChosenUpTo.
  std::optional<size_t> Chosen(const View& view, int64_t limit) const {
    if (graph_[view.prim].kind != PrimKind::kPointwise || !(view == graph_.Whole(view.prim))) return {};
    const auto e = ParseExpression(graph_[view.prim].expr);
    if (!e || !e->IsCall("tl.where", 3) || !e->in[1].IsOperand()) return {};
    const Expression &condition = e->in[0], &otherwise = e->in[2];
    if (otherwise.kind != Kind::kNumber || otherwise.number != -kInfinity) return {};
    // What has absolute values has a limit on the other side, too.
    const auto limit_of = [&](const Expression& comparison, const View& of) {
      const bool plain = LinearOf(comparison.in[0], of) && LinearOf(comparison.in[1], of);
      return plain ? Compared(comparison, of, true) : Limit{};
    };
    Limit found;
    if (condition.kind == Kind::kBinary) {
      found = limit_of(condition, view);
    } else if (const auto in = condition.IsOperand() ? Operand(view, condition) : std::nullopt;
               in && in->prim >= 0 && graph_[in->prim].kind == PrimKind::kPointwise) {
      const auto inner = ParseExpression(graph_[in->prim].expr);
      if (inner && inner->kind == Kind::kBinary) found = limit_of(*inner, *in);
    }
    return found == limit ? std::optional(e->in[1].operand) : std::nullopt;
  }

 private:
  Limit Of(const Expression& e, const View& view, State state, int depth) const {
    const auto of = [&](const Expression& part, State is) { return Of(part, view, is, depth); };
    switch (e.kind) {
      case Kind::kOperand: {
        const auto in = Operand(view, e);
        return in ? Of(*in, state, depth + 1) : Limit{};
      }
      case Kind::kNumber: {
        const bool is = state == State::kLive    ? e.number != -kInfinity
                        : state == State::kFalse ? e.number == 0
                                                 : e.number != 0;
        return is ? Limit{} : Limit{kNever};
      }
      case Kind::kNot:
        return DtypeOf(e.in[0], view) == Dtype::kBool ? of(e.in[0], Other(state)) : Limit{};
      case Kind::kCast:
        // A fraction becomes the integer 0.
        return state == State::kFalse && IsFloating(DtypeOf(e.in[0], view)) ? Limit{} : of(e.in[0], state);
      case Kind::kCall:
        if (!e.IsCall("tl.where", 3)) return {};
        return Either(Both(of(e.in[0], State::kTrue), of(e.in[1], state)),
                      Both(of(e.in[0], State::kFalse), of(e.in[2], state)));
      case Kind::kBinary:
        return OfBinary(e, view, state, depth);
    }
    return {};
  }

  Limit OfBinary(const Expression& e, const View& view, State state, int depth) const {
    const Expression &a = e.in[0], &b = e.in[1];
    const auto of = [&](const Expression& part, State is) { return Of(part, view, is, depth); };
    if (state == State::kLive) {
      if (e.name == "+") return Both(of(a, state), of(b, state));
      if (e.name == "-") return of(a, state);
      const bool factor = b.kind == Kind::kNumber && b.number > 0 && (e.name == "*" || e.name == "/");
      return factor ? of(a, state) : Limit{};
    }
    // What is multiplied by a mask is NaN where it is infinite: only a choice says that something is zero.
    if (state == State::kNotZero) {
      const bool factor = b.kind == Kind::kNumber && (e.name == "*" || e.name == "/");
      return factor ? of(a, state) : Limit{};
    }
    const bool is = state == State::kTrue;
    if (e.name == "&") return is ? Both(of(a, state), of(b, state)) : Either(of(a, state), of(b, state));
    if (e.name == "|") return is ? Either(of(a, state), of(b, state)) : Both(of(a, state), of(b, state));
    if (e.name == "==" && b.IsNumber(0)) return of(a, Other(state));
    if (e.name == "!=" && b.IsNumber(0)) return of(a, state);
    if (is && b.kind == Kind::kNumber &&
        ((e.name == "==" && b.number != 0) || (e.name == ">" && b.number >= 0)))
      return of(a, State::kTrue);
    return Compared(e, view, is);
  }

  // Of a comparison that `holds` or does not.
  Limit Compared(const Expression& e, const View& view, bool holds) const {
    bool below = e.name == "<=" || e.name == "<", strict = e.name == "<" || e.name == ">";
    if (!below && e.name != ">=" && e.name != ">") return {};
    if (!holds) below = !below, strict = !strict;
    const Expression &small = below ? e.in[0] : e.in[1], &large = below ? e.in[1] : e.in[0];
    auto a = LinearOf(small, view);
    const auto b = LinearOf(large, view);
    if (!a) a = InsideAbsolute(small, view);
    if (!a || !b) return {};
    // a − b = factor · (key − query) + offset
    const int64_t factor = a->key - b->key;
    if (a->query - b->query != -factor || factor != sign_)
      return {};  // on the other side, or as nobody writes it
    return b->offset - a->offset - (strict ? 1 : 0);
  }

  // Of x or −x in |x|, which are both below what that is below: the one that tells of this side.
  std::optional<Linear> InsideAbsolute(const Expression& e, const View& view) const {
    if (e.kind == Kind::kCast) return InsideAbsolute(e.in[0], view);
    if (e.IsCall("tl.abs", 1)) {
      auto x = LinearOf(e.in[0], view);
      if (x && x->key * sign_ < 0) x = Linear{-x->query, -x->key, -x->offset};
      return x;
    }
    const auto in = e.IsOperand() ? Operand(view, e) : std::nullopt;
    if (!in || in->prim < 0 || graph_[in->prim].kind != PrimKind::kPointwise) return std::nullopt;
    const auto inner = ParseExpression(graph_[in->prim].expr);
    return inner ? InsideAbsolute(*inner, *in) : std::nullopt;
  }

  std::optional<Linear> LinearOf(const Expression& e, const View& view) const {
    if (e.kind == Kind::kCast) return LinearOf(e.in[0], view);
    if (e.kind == Kind::kNumber && e.number == std::floor(e.number) && std::abs(e.number) < 1e9)
      return Linear{0, 0, static_cast<int64_t>(e.number)};
    if (e.kind == Kind::kBinary && (e.name == "+" || e.name == "-")) {
      const auto a = LinearOf(e.in[0], view), b = LinearOf(e.in[1], view);
      const int sign = e.name == "+" ? 1 : -1;
      if (!a || !b) return std::nullopt;
      return Linear{a->query + sign * b->query, a->key + sign * b->key, a->offset + sign * b->offset};
    }
    if (e.kind == Kind::kBinary && e.name == "*" && e.in[1].IsNumber(1)) return LinearOf(e.in[0], view);
    const auto in = e.IsOperand() ? Operand(view, e) : std::nullopt;
    if (!in) return std::nullopt;
    if (in->prim >= 0) {
      const Prim& prim = graph_[in->prim];
      const auto inner = prim.kind == PrimKind::kPointwise ? ParseExpression(prim.expr) : std::nullopt;
      return inner ? LinearOf(*inner, *in) : std::nullopt;
    }
    // An element number: a stride along queries, one along keys.
    const auto digits = SplitIntoAxes(*in, axes_);
    if (!digits || !in->guards.empty()) return std::nullopt;
    int64_t strides[3] = {0, 0, 0};
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      const auto& own = (*digits)[axis];
      if (own.size() > 1) return std::nullopt;
      if (!own.empty()) strides[axis] = own[0].stride;
    }
    if (strides[0] != 0) return std::nullopt;
    return Linear{strides[1], strides[2], in->offset};
  }

  std::optional<View> Operand(const View& view, const Expression& e) const {
    const Prim& prim = graph_[view.prim];
    return e.operand < prim.operands.size() ? ComposeFinely(view, prim.operands[e.operand]) : std::nullopt;
  }

  // Of an operand; of anything else it is taken for a number.
  Dtype DtypeOf(const Expression& e, const View& view) const {
    const std::vector<Dtype>& compute = graph_[view.prim].compute;
    return e.IsOperand() && e.operand < compute.size() ? compute[e.operand] : Dtype::kFloat32;
  }

  const Graph& graph_;
  const int sign_;
  const std::vector<int64_t> axes_;
};

// None where it says nothing of any row and column, or lets none be.
std::optional<int64_t> LimitOf(const Graph& graph, Side side, const View& view, State state, int64_t batch,
                               int64_t rows, int64_t columns) {
  const auto [near, far] = side == Side::kAhead ? std::pair(rows, columns) : std::pair(columns, rows);
  const Limit limit = Looker(graph, side, batch, rows, columns).Of(view, state);
  return limit && *limit > -near && *limit < far - 1 ? limit : std::nullopt;
}

}  // namespace

std::optional<size_t> ChosenUpTo(const Graph& graph, const View& weighed, int64_t batch, int64_t queries,
                                 int64_t keys, int64_t limit) {
  return Looker(graph, Side::kAhead, batch, queries, keys).Chosen(weighed, limit);
}

std::optional<int64_t> KeysAhead(const Graph& graph, const View& weighed, int64_t batch, int64_t queries,
                                 int64_t keys) {
  return LimitOf(graph, Side::kAhead, weighed, State::kLive, batch, queries, keys);
}

std::optional<int64_t> KeysBehind(const Graph& graph, const View& weighed, int64_t batch, int64_t queries,
                                  int64_t keys) {
  return LimitOf(graph, Side::kBehind, weighed, State::kLive, batch, queries, keys);
}

std::optional<int64_t> KeptAhead(const Graph& graph, const View& result, int64_t batch, int64_t rows,
                                 int64_t columns) {
  return LimitOf(graph, Side::kAhead, result, State::kNotZero, batch, rows, columns);
}

std::optional<int64_t> KeptBehind(const Graph& graph, const View& result, int64_t batch, int64_t rows,
                                  int64_t columns) {
  return LimitOf(graph, Side::kBehind, result, State::kNotZero, batch, rows, columns);
}

}  // namespace tritogen::teach
