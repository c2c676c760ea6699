#include <algorithm>
#include <cmath>

#include "program/catalogue.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// What torch.matmul has a kernel for but tl.dot has none: plain sums of products.
bool FitsSums(Dtype dtype) {
  return FitsDot(dtype) || dtype == Dtype::kFloat64 || dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
}

// A product with one row or one column is a reduction: nothing is reused, so tiles of a dot would be empty
// work. Little work with few columns of float32 is one of a line for each: a dot without tensor cores takes
// longer than a line that is read again from a cache. But attention of one query is memory's work even so,
// and one kernel with a dot of 16 rows.
Value Product(Builder& b, const Value& a, const Value& w, int batch_dims) {
  int64_t k = a.sizes().back(), n = w.sizes().back(), m = 1;
  for (size_t i = batch_dims; i + 1 < a.sizes().size(); ++i) m *= a.sizes()[i];
  constexpr int64_t kFewColumns = 16, kMostReadAgain = int64_t{1} << 23;
  const bool reads_again =
      a.dtype == Dtype::kFloat32 && !b.KeepsRows() && n <= kFewColumns && a.view.numel() < kMostReadAgain / n;
  const bool few = n == 1 || reads_again;
  if ((m > 1 || b.KeepsRows()) && !few && k > 1 && FitsDot(a.dtype)) return b.Matmul(a, w, batch_dims);
  View left = Unsqueeze(a.view, -2);  // (batch…, m…, 1, k) · (batch…, 1…, n, k)
  std::vector<int64_t> order;
  for (int i = 0; i < batch_dims; ++i) order.push_back(i);
  order.insert(order.end(), {batch_dims + 1, batch_dims});
  View right = Permute(w.view, order);
  for (int i = static_cast<int>(a.sizes().size()) - 1; i > batch_dims; --i)
    right = Unsqueeze(right, batch_dims);
  Value products = b.Op("mul", {Value{left, a.dtype}, Value{right, w.dtype}}, ComputeDtype(a.dtype));
  Value sums = b.Reduce(ReduceOp::kSum, products, {-1}, false);
  return sums;
}

// beta·addend + alpha·product
Value Add(Builder& b, Value product, const Value& addend, double beta, double alpha, Dtype dtype) {
  if (alpha != 1) product = b.Op("mul", {product, alpha}, ComputeDtype(dtype));
  if (beta == 0) return product;
  return b.Op("add", {product, beta == 1 ? In{addend} : In{b.Op("mul", {addend, beta}, ComputeDtype(dtype))}},
              dtype);
}

// torch.matmul for every rank: batch dimensions broadcast, vectors gain a dimension and lose it again.
std::optional<Value> GeneralProduct(Builder& b, Value a, Value w, const std::vector<int64_t>& sizes) {
  if (!a.view.guards.empty() || !w.view.guards.empty() || a.view.rank() == 0 || w.view.rank() == 0)
    return std::nullopt;
  if (a.view.rank() == 1) a.view = Unsqueeze(a.view, 0);
  if (w.view.rank() == 1) w.view = Unsqueeze(w.view, 1);
  if (w.view.rank() == 2) return b.Reshape(Product(b, a, w, 0), sizes);
  std::vector<int64_t> a_batch(a.sizes().begin(), a.sizes().end() - 2),
      w_batch(w.sizes().begin(), w.sizes().end() - 2);
  std::vector<int64_t> batch = BroadcastSizes({a_batch, w_batch});
  auto whole = [&](const Value& v) {
    std::vector<int64_t> full = batch;
    full.insert(full.end(), v.sizes().end() - 2, v.sizes().end());
    return Value{Expand(v.view, full), v.dtype};
  };
  return b.Reshape(Product(b, whole(a), whole(w), static_cast<int>(batch.size())), sizes);
}

// Operands of attention. Where several query heads share one of keys and values, these heads are a dimension
// of their own, along which keys, values and masks broadcast.
struct Attended {
  Value q, k, v;
  std::optional<Value> mask;
  int64_t heads = 0;  // of queries to each of keys; 0: no such dimension
};

std::optional<Attended> AttendedOf(Builder& b, const BoundArgs& args) {
  Attended a{b.Tensor(args, "query"), b.Tensor(args, "key"), b.Tensor(args, "value"), {}, 0};
  if (b.HasTensor(args, "attn_mask")) a.mask = b.Tensor(args, "attn_mask");
  const int rank = a.q.view.rank();
  if (rank < 3 || a.k.view.rank() != rank || a.v.view.rank() != rank) return std::nullopt;
  const int64_t queries = a.q.sizes()[rank - 3], keys = a.k.sizes()[rank - 3];
  if (keys == queries || keys == 1 || queries == 1) return a;
  if (keys != a.v.sizes()[rank - 3] || queries % keys != 0) return std::nullopt;
  a.heads = queries / keys;
  const auto apart = [&](Value& value) {
    const int at = value.view.rank() - 3;
    if (at < 0) return;
    if (value.sizes()[at] != queries) {
      value.view = Unsqueeze(value.view, at + 1);
      return;
    }
    std::vector<int64_t> sizes = value.sizes();
    sizes[at] = keys;
    sizes.insert(sizes.begin() + at + 1, a.heads);
    value = b.Reshape(value, sizes);
  };
  apart(a.q);
  if (a.mask) apart(*a.mask);
  a.k.view = Unsqueeze(a.k.view, rank - 2);
  a.v.view = Unsqueeze(a.v.view, rank - 2);
  return a;
}

// q·kᵀ·scale + mask
std::optional<Value> Scores(Builder& b, const Attended& a, const BoundArgs& args) {
  const int rank = a.q.view.rank();
  std::vector<int64_t> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[rank - 1], order[rank - 2]);
  std::vector<int64_t> sizes = a.q.sizes();
  sizes[rank - 1] = a.k.sizes()[rank - 2];
  auto product = GeneralProduct(b, a.q, {Permute(a.k.view, order), a.k.dtype}, sizes);
  if (!product) return std::nullopt;
  const auto scale = AsNumber(args["scale"]);
  Value scores = scale ? b.Op("mul", {*product, *scale}, Dtype::kFloat32)
                       : b.Pointwise("mul", fmt::format("{{0}} * {} ** -0.5", a.q.sizes().back()), {*product},
                                     Dtype::kFloat32, 1);
  if (AsBool(args["is_causal"], false)) {
    Value row = b.Index(sizes, -2), column = b.Index(sizes, -1);
    scores = b.Pointwise("causal", "tl.where({1} <= {2}, {0}, float(\"-inf\"))", {scores, column, row},
                         Dtype::kFloat32, 1);
  }
  if (!a.mask) return scores;
  return a.mask->dtype == Dtype::kBool ? b.Op("where", {*a.mask, scores, -INFINITY}, Dtype::kFloat32)
                                       : b.Op("add", {scores, *a.mask}, Dtype::kFloat32);
}

// Softmax(q·kᵀ·scale + mask)·v from its parts.
bool LowerAttention(Builder& b, const Node& node, const BoundArgs& args) {
  if (AsNumber(args["dropout_p"]).value_or(0) > 0 || !FitsDot(b.Tensor(args, "query").dtype)) return false;
  const auto a = AttendedOf(b, args);
  if (!a) return false;
  const auto scores = Scores(b, *a, args);
  if (!scores) return false;
  SoftmaxParts parts = Softmax(b, *scores, {-1});
  // Only a mask can leave a query without any key.
  Value weights = a->mask ? SafeWeights(b, parts) : b.Op("div", {parts.exponentials, parts.sum});
  std::vector<int64_t> sizes = a->q.sizes();
  sizes.back() = a->v.sizes().back();
  auto result = GeneralProduct(b, b.Cast(weights, a->v.dtype), a->v, sizes);
  if (!result) return false;
  b.Return({b.Reshape(*result, node.results[0].sizes)});
  return true;
}

}  // namespace

Value Linear(Builder& b, const Value& input, const Value& weight, const std::optional<Value>& bias) {
  std::vector<int64_t> sizes = input.sizes();
  sizes.back() = weight.sizes()[0];
  Value product = *GeneralProduct(b, input, {Permute(weight.view, {1, 0}), weight.dtype}, sizes);
  return bias ? Add(b, product, *bias, 1, 1, input.dtype) : product;
}

bool LowerMatmul(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op.find("attention") != std::string_view::npos) return LowerAttention(b, node, args);
  auto value = [&](std::string_view name) { return b.Tensor(args, name); };
  const Shape& result = node.results[0];
  if (!FitsSums(result.dtype)) return false;
  double beta = AsNumber(args["beta"]).value_or(1), alpha = AsNumber(args["alpha"]).value_or(1);
  std::optional<Value> out;
  if (op == "linear") {
    Value x = value("input");
    if (value("weight").view.rank() != 2 || x.view.rank() == 0 || !x.view.guards.empty()) return false;
    out = Linear(b, x, value("weight"),
                 b.HasTensor(args, "bias") ? std::optional(value("bias")) : std::nullopt);
    if (!out->view.guards.empty() || out->sizes() != result.sizes) out = b.Reshape(*out, result.sizes);
  } else if (op == "addmm" || op == "baddbmm") {
    bool batched = op == "baddbmm";
    out = GeneralProduct(b, value(batched ? "batch1" : "mat1"), value(batched ? "batch2" : "mat2"),
                         result.sizes);
    if (out) out = Add(b, *out, value("self"), beta, alpha, result.dtype);
  } else {
    std::string_view second = op == "mv" ? "vec" : op == "dot" ? "tensor" : op == "matmul" ? "other" : "mat2";
    out = GeneralProduct(b, value("self"), value(second), result.sizes);
  }
  if (!out) return false;
  b.Return({*out});
  return true;
}

}  // namespace tritogen::teach
