// Shape rules of matrix products, attention and recurrent networks.
#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen::rules {
namespace {

bool RequireRank(ShapeBuilder& b, std::string_view tensor, int rank) {
  return b.Require(b.Rank(tensor) == rank, "a matrix product of tensors of other ranks");
}

// [m, k] and [k, n] behind equal batch dimensions.
Terms Product(ShapeBuilder& b, const Terms& x, const Terms& y) {
  b.RequireEqual(x.back(), y[y.size() - 2], "the contracted sizes");
  Terms out(x.begin(), x.end() - 1);
  out.push_back(y.back());
  return out;
}

// The result, to which a tensor broadcasts without making it larger.
void Accumulated(ShapeBuilder& b, Terms product, std::string_view onto) {
  const Terms& self = b.In(onto);
  if (!b.Require(self.size() <= product.size(), "the tensor added has more dimensions than the product"))
    return;
  Terms sum = b.BroadcastedShapes(product, self);
  b.RequireEqual(sum, product, "the tensor added broadcasts to the product");
  b.Result(std::move(product));
}

}  // namespace

void Mm(ShapeBuilder& b) {
  if (RequireRank(b, "self", 2) && RequireRank(b, "mat2", 2))
    b.Result(Product(b, b.In("self"), b.In("mat2")));
}

void Bmm(ShapeBuilder& b) {
  if (!RequireRank(b, "self", 3) || !RequireRank(b, "mat2", 3)) return;
  b.RequireEqual(b.In("self")[0], b.In("mat2")[0], "the batches");
  b.Result(Product(b, b.In("self"), b.In("mat2")));
}

// Vectors stand for matrices of one row or column, which the result does not have; batches broadcast.
void Matmul(ShapeBuilder& b) {
  Terms x = b.In("self"), y = b.In("other");
  if (!b.Require(!x.empty() && !y.empty(), "matmul of a tensor without dimensions")) return;
  const bool row = x.size() == 1, column = y.size() == 1;
  if (row) x.insert(x.begin(), Term::Of(1));
  if (column) y.push_back(Term::Of(1));
  b.RequireEqual(x.back(), y[y.size() - 2], "the contracted sizes");
  Terms out = b.BroadcastedShapes(Terms(x.begin(), x.end() - 2), Terms(y.begin(), y.end() - 2));
  if (!row) out.push_back(x[x.size() - 2]);
  if (!column) out.push_back(y.back());
  b.Result(std::move(out));
}

void Mv(ShapeBuilder& b) {
  if (!RequireRank(b, "self", 2) || !RequireRank(b, "vec", 1)) return;
  b.RequireEqual(b.In("self")[1], b.In("vec")[0], "the contracted sizes");
  b.Result({b.In("self")[0]});
}

void Dot(ShapeBuilder& b) {
  if (!RequireRank(b, "self", 1) || !RequireRank(b, "tensor", 1)) return;
  b.RequireEqual(b.In("self")[0], b.In("tensor")[0], "the contracted sizes");
  b.Result({});
}

void Outer(ShapeBuilder& b) {
  if (!RequireRank(b, "self", 1) || !RequireRank(b, "vec2", 1)) return;
  b.Result({b.In("self")[0], b.In("vec2")[0]});
}

// x [..., in], weight [out, in] or [in], bias [out] or [].
void Linear(ShapeBuilder& b) {
  Terms out = b.In("input");
  const Terms& weight = b.In("weight");
  if (!b.Require(!out.empty() && (weight.size() == 1 || weight.size() == 2), "weight of linear is a matrix"))
    return;
  b.RequireEqual(out.back(), weight.back(), "the contracted sizes");
  out.pop_back();
  if (weight.size() == 2) out.push_back(weight[0]);
  if (b.Has("bias"))
    b.RequireEqual(b.In("bias"), Terms(weight.begin(), weight.end() - 1), "one bias an output");
  b.Result(std::move(out));
}

void Addmm(ShapeBuilder& b) {
  if (!RequireRank(b, "mat1", 2) || !RequireRank(b, "mat2", 2)) return;
  Accumulated(b, Product(b, b.In("mat1"), b.In("mat2")), "self");
}

void Baddbmm(ShapeBuilder& b) {
  if (!RequireRank(b, "batch1", 3) || !RequireRank(b, "batch2", 3)) return;
  b.RequireEqual(b.In("batch1")[0], b.In("batch2")[0], "the batches");
  Accumulated(b, Product(b, b.In("batch1"), b.In("batch2")), "self");
}

// query [..., heads, L, E], key [..., heads, S, E], value [..., heads, S, Ev]; with enable_gqa the queries'
// heads are a multiple of the others'.
void Attention(ShapeBuilder& b) {
  const Terms &q = b.In("query"), &k = b.In("key"), &v = b.In("value");
  const size_t rank = q.size();
  if (!b.Require(rank >= 2 && k.size() == rank && v.size() == rank, "query, key and value of unlike rank"))
    return;
  const bool grouped = b.Flag("enable_gqa") && rank >= 3;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    b.RequireEqual(k[axis], v[axis], "key and value belong together");
    if (grouped && axis + 3 == rank) {
      b.RequireDivides(k[axis], q[axis], "heads of the query are a multiple of those of the key");
    } else {
      b.RequireEqual(q[axis], k[axis], "batches of query and key");
    }
  }
  b.RequireEqual(q[rank - 1], k[rank - 1], "width of query and key");
  b.RequireEqual(k[rank - 2], v[rank - 2], "length of key and value");
  if (b.Has("attn_mask")) {
    Terms scores(q.begin(), q.end() - 1);
    scores.push_back(k[rank - 2]);
    const Terms& mask = b.In("attn_mask");
    if (!b.Require(mask.size() >= 2 && mask.size() <= rank, "rank of the mask")) return;
    b.RequireEqual(b.BroadcastedShapes(scores, mask), scores, "the mask broadcasts to the scores");
  }
  Terms out(q.begin(), q.end() - 1);
  out.push_back(v.back());
  b.Result(std::move(out));
}

void SquareAttention(ShapeBuilder& b) {
  const Terms &k = b.In("key"), &v = b.In("value");
  if (!b.Require(!k.empty() && !v.empty(), "key and value without dimensions")) return;
  b.RequireEqual(k.back(), v.back(), "key and value of one width");
  Attention(b);
}

namespace {

struct Recurrent {
  Term steps, batch, hidden;
  int directions = 1;
  int64_t layers = 1;
  bool batch_first = false;
};

// Weights [gates·H, in], [gates·H, H] and biases [gates·H] twice, for each layer and direction.
void RequireWeights(ShapeBuilder& b, const Recurrent& r, int gates, Term width) {
  const std::vector<Terms> params = b.List("params");
  const size_t each = b.Flag("has_biases") ? 4 : 2;
  if (!b.Require(params.size() == each * r.directions * r.layers, "number of weights")) return;
  const Term rows = b.Times({Term::Of(gates), r.hidden});
  for (size_t i = 0; i < params.size(); ++i) {
    const size_t part = i % each, layer = i / each / r.directions;
    const Term in = layer == 0 ? width : b.Times({Term::Of(r.directions), r.hidden});
    if (part == 0) b.RequireEqual(params[i], {rows, in}, "weights of the input");
    if (part == 1) b.RequireEqual(params[i], {rows, r.hidden}, "weights of the state");
    if (part >= 2) b.RequireEqual(params[i], {rows}, "biases");
  }
}

// input [steps, batch, width], state [layers · directions, batch, H].
void RecurrentNetwork(ShapeBuilder& b, int gates, const std::vector<Terms>& states) {
  const Terms& x = b.In("input");
  if (!b.Require(x.size() == 3, "recurrent networks take batches")) return;
  Recurrent r;
  r.batch_first = b.Flag("batch_first");
  r.directions = b.Flag("bidirectional") ? 2 : 1;
  r.layers = b.Int("num_layers", 1);
  if (!b.Require(r.layers >= 1 && r.layers <= 1024, "number of layers")) return;
  r.steps = x[r.batch_first ? 1 : 0];
  r.batch = x[r.batch_first ? 0 : 1];
  for (const Terms& state : states) {
    if (!b.Require(state.size() == 3, "a state has three dimensions")) return;
    r.hidden = states[0][2];
    b.RequireEqual(state, {Term::Of(r.layers * r.directions), r.batch, r.hidden}, "the state");
  }
  RequireWeights(b, r, gates, x[2]);
  const Term wide = b.Times({Term::Of(r.directions), r.hidden});
  b.Result(r.batch_first ? Terms{r.batch, r.steps, wide} : Terms{r.steps, r.batch, wide});
  for (const Terms& state : states) b.Result(state);
}

}  // namespace

void Lstm(ShapeBuilder& b) {
  const std::vector<Terms> states = b.List("hx");
  if (b.Require(states.size() == 2, "an LSTM has two states")) RecurrentNetwork(b, 4, states);
}

void Gru(ShapeBuilder& b) {
  RecurrentNetwork(b, b.row().name.starts_with("gru") ? 3 : 1, {b.In("hx")});
}

}  // namespace tritogen::rules
