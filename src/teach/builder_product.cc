// Matrix products, cut along k where results are few.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/error.h"
#include "base/rounding.h"
#include "teach/count_text.h"
#include "teach/product_shape.h"

namespace tritogen::teach {
namespace {

// What a sum is cut into (kLongSum), and that of a product of parts (kLongSumOfParts).
constexpr int64_t kShortestPart = 128, kShortestPartOfParts = 512;
// TF32 dots are done with a sum of 1024 before another kernel has been launched.
constexpr int64_t kLongSumOfTf32 = 4096;

Inner InnerOfFirst(const View& a, int64_t inner) {
  size_t first = a.sizes.size();
  for (int64_t size = 1; first > 0 && size < inner;) size *= a.sizes[--first];
  return {first, {a.sizes.begin() + static_cast<int64_t>(first), a.sizes.end()}};
}

// Dimension `dim` as (parts, the rest), the parts where dimension `to` was.
View Cut(const View& view, size_t dim, int64_t parts, int to) {
  View cut = view;
  const int64_t size = view.sizes[dim] / parts, stride = view.strides[dim];
  cut.sizes[dim] = size;
  cut.sizes.insert(cut.sizes.begin() + to, parts);
  cut.strides.insert(cut.strides.begin() + to, stride * size);
  return cut;
}

// In how many parts of those that `size` can be cut into a sum of `inner` is worth cutting; 1: none. What can
// be loaded several elements at once stays so.
int64_t SumsOf(int64_t size, int64_t inner, int64_t programs) {
  int64_t best = 1;
  for (int64_t parts = 2; parts <= size && inner / parts >= kShortestPart; ++parts) {
    if (size % parts != 0 || (size % kAtOnce == 0 && size / parts % kAtOnce != 0)) continue;
    best = parts;
    if (parts * programs >= kManyPrograms) break;
  }
  return best;
}

// The same of large tiles that leave multiprocessors without one: parts whose programs come in the least
// waves, by the work of each.
int64_t SumsInWaves(int64_t size, int64_t inner, int64_t tiles) {
  const auto waves = [&](int64_t parts) { return CeilDiv(parts * tiles, kProcessors); };
  int64_t best = 1;
  for (int64_t parts = 2; parts <= size && inner / parts >= kShortestPartOfParts; ++parts) {
    if (size % parts == 0 && waves(parts) * best < waves(best) * parts) best = parts;
  }
  return best;
}

}  // namespace

Value Builder::Matmul(const Value& a, const Value& b, int batch_dims) {
  std::vector<int64_t> sizes = {a.sizes().begin(), a.sizes().end() - 1};
  sizes.push_back(b.sizes().back());
  return Matmul(a, b, batch_dims, std::move(sizes), a.sizes().back());
}

Value Builder::Matmul(const Value& a, const Value& b, int batch_dims, std::vector<int64_t> sizes,
                      int64_t inner, std::vector<int64_t> shape) {
  Value first = a, second = b;
  const auto halves = BehindCasts(a, b);
  if (halves) std::tie(first, second) = *halves;
  if (!halves && TakesTf32x3(a, b, batch_dims, sizes, inner))
    return Matmul(Factors{.a = {a}, .b = {b}}, batch_dims, std::move(sizes), inner, std::move(shape));
  inner = Align(&first, &second, batch_dims, sizes, inner);
  if (const int64_t whole = WholeSum(first, second, batch_dims, sizes, inner); whole < inner) {
    const auto part = [&](int64_t start, int64_t length) {
      return Matmul({Slice(first.view, -1, start, length, 1), first.dtype},
                    {Slice(second.view, batch_dims, start, length, 1), second.dtype}, batch_dims, sizes,
                    length, shape);
    };
    return Op("add", {part(0, whole), part(whole, inner - whole)}, first.dtype);
  }
  if (!halves && TakesCopies(a, batch_dims, sizes, inner) &&
      TakesTf32x3(first, second, batch_dims, sizes, inner))
    return Matmul(Factors{.a = {first}, .b = {second}}, batch_dims, std::move(sizes), inner,
                  std::move(shape));
  auto factors = StoredFactors(first, second, batch_dims, sizes, inner);
  if (!factors) factors = Factors{.a = {first}, .b = {second}};
  factors->widened = halves.has_value();
  return Matmul(*std::move(factors), batch_dims, std::move(sizes), inner, std::move(shape));
}

// Of a long sum for few programs the beginning, of a length that it can be cut by; all of it where it can be,
// or need not.
int64_t Builder::WholeSum(const Value& a, const Value& b, int batch_dims, const std::vector<int64_t>& sizes,
                          int64_t inner) const {
  constexpr int64_t kMostUnit = 1024;
  const int64_t programs = TilesOfDots(ResultOf(sizes, batch_dims));
  const bool plain = a.dtype == Dtype::kFloat32 && a.sizes().back() == inner &&
                     b.sizes().size() == static_cast<size_t>(batch_dims) + 2 &&
                     b.sizes()[static_cast<size_t>(batch_dims)] == inner && a.view.guards.empty() &&
                     b.view.guards.empty();
  if (!plain || !CutsAnywhere() || options_.apart || inner < 2 * kLongSum || programs >= kFewPrograms)
    return inner;
  if (SumsOf(inner, inner, programs) * programs >= kFewPrograms) return inner;
  const auto sixteenth = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(inner) / 16));
  const int64_t unit = std::min(sixteenth, kMostUnit), rest = inner % unit;
  return inner - rest - (rest == 1 ? unit : 0);  // a sum of one is no product
}

// Of float32 factors that are casts of one half type these: their products are exact in float32, in which
// dots of them add up.
std::optional<std::pair<Value, Value>> Builder::BehindCasts(const Value& a, const Value& b) const {
  const bool may =
      options_.cuts == LowerOptions::Cuts::kAnywhere && !options_.apart;  // who learns sees the casts
  if (!may || !a.view.guards.empty() || !b.view.guards.empty()) return std::nullopt;
  const auto behind = [&](const Value& value) -> std::optional<Value> {
    if (value.dtype != Dtype::kFloat32 || value.view.prim < 0) return std::nullopt;
    const Prim& cast = graph[value.view.prim];
    const bool widens = cast.kind == PrimKind::kPointwise && cast.operands.size() == 1 &&
                        cast.operands[0].prim >= 0 && cast.operands[0].guards.empty() &&
                        cast.expr == "{0}.to(tl.float32)" && IsHalf(graph[cast.operands[0].prim].dtype);
    const auto view = widens ? Compose(value.view, cast.operands[0]) : std::nullopt;
    return view ? std::optional(Value{*view, graph[view->prim].dtype}) : std::nullopt;
  };
  const auto first = behind(a), second = behind(b);
  if (!first || !second || first->dtype != second->dtype) return std::nullopt;
  return std::pair(*first, *second);
}

Value Builder::Matmul(const std::vector<Value>& a, const std::vector<Value>& b, int batch_dims,
                      std::vector<int64_t> sizes, int64_t inner, std::vector<int64_t> shape) {
  TRITOGEN_CHECK(!a.empty() && a.size() == b.size());
  return Matmul({a, b, static_cast<int>(a.size()), 0}, batch_dims, std::move(sizes), inner, std::move(shape));
}

Value Builder::OuterProducts(const Value& a, const Value& b, int batch_dims, std::vector<int64_t> sizes,
                             int64_t inner, int64_t taps, std::vector<int64_t> shape) {
  return OneProduct({{a}, {b}, 1, taps}, batch_dims, std::move(sizes), inner, std::move(shape), a.dtype);
}

Value Builder::Matmul(Factors factors, int batch_dims, std::vector<int64_t> sizes, int64_t inner,
                      std::vector<int64_t> shape) {
  if (auto sum = SumOfProducts(factors, batch_dims, sizes, inner, shape)) return *sum;
  return OneProduct(factors, batch_dims, std::move(sizes), inner, std::move(shape), factors.dtype());
}

// Of the parts of k, where that is worth it.
std::optional<Value> Builder::SumOfProducts(const Factors& factors, int batch_dims,
                                            std::vector<int64_t> sizes, int64_t inner,
                                            const std::vector<int64_t>& shape) {
  const bool tf32 = !factors.widened && IsTf32(factors.dtype(), FlopsOf(sizes, inner));
  if (options_.cuts != LowerOptions::Cuts::kAnywhere || options_.apart ||
      inner < (tf32 ? kLongSumOfTf32 : kLongSum) || InAttention())
    return std::nullopt;
  const Result result = ResultOf(sizes, batch_dims);
  const int64_t programs = TilesOfDots(result);
  const int64_t tiles = TilesOfParts(result);
  const bool few = programs < kFewPrograms;
  const bool idle = factors.parts > 1 && inner >= kLongSumOfParts && !FillProcessors(tiles);
  if (!few && !idle) return std::nullopt;
  const auto &a = factors.a, &b = factors.b;
  const Inner of_a = InnerOfFirst(a[0].view, inner), of_b = InnerOfSecond(b[0].view, batch_dims, inner);
  const auto guarded = [](const Value& value) { return !value.view.guards.empty(); };
  if (of_a.sizes != of_b.sizes || std::any_of(a.begin(), a.end(), guarded) ||
      std::any_of(b.begin(), b.end(), guarded))
    return std::nullopt;
  size_t dim = 0;
  int64_t sums = 1;
  for (size_t i = 0; i < of_a.sizes.size(); ++i) {
    const int64_t more =
        few ? SumsOf(of_a.sizes[i], inner, programs) : SumsInWaves(of_a.sizes[i], inner, tiles);
    if (more > sums) dim = i, sums = more;
  }
  if (sums == 1) return std::nullopt;
  Factors cut = factors;
  for (Value& value : cut.a) value.view = Cut(value.view, of_a.first + dim, sums, batch_dims);
  for (Value& value : cut.b) value.view = Cut(value.view, of_b.first + dim, sums, batch_dims);
  sizes.insert(sizes.begin() + batch_dims, sums);
  std::vector<int64_t> long_shape(sizes.begin(), sizes.end() - 1);
  const std::vector<int64_t> columns = FactorsAt(shape, 1, result.n);
  long_shape.insert(long_shape.end(), columns.begin(), columns.end());
  const Value products =
      OneProduct(cut, batch_dims + 1, std::move(sizes), inner / sums, std::move(long_shape), Dtype::kFloat32);
  return Cast(Reduce(ReduceOp::kSum, products, {batch_dims}, false), factors.dtype());
}

Value Builder::OneProduct(const Factors& factors, int batch_dims, std::vector<int64_t> sizes, int64_t inner,
                          std::vector<int64_t> shape, Dtype dtype) {
  Prim prim;
  prim.kind = PrimKind::kMatmul;
  prim.name = "matmul";
  prim.origin = origin;
  prim.parts = factors.parts;
  prim.taps = factors.taps;
  prim.tf32 = !factors.widened && IsTf32(factors.dtype(), FlopsOf(sizes, inner));
  prim.first = static_cast<int>(factors.a.size());
  prim.dtype = dtype;
  prim.held = Dtype::kFloat32;
  prim.batch_dims = batch_dims;
  prim.sizes = std::move(sizes);
  prim.shape = std::move(shape);
  prim.inner = inner;
  for (const auto* factor : {&factors.a, &factors.b}) {
    for (const Value& part : *factor) {
      prim.operands.push_back(part.view);
      prim.compute.push_back(part.dtype);
    }
  }
  prim.flops = 2.0 * static_cast<double>(inner);
  return {graph.Whole(graph.Add(std::move(prim))), dtype};
}

}  // namespace tritogen::teach
