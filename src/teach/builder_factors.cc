// Factors of matrix products: as they lie, copies, or the parts and rounded numbers that are stored for them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "teach/product_shape.h"

namespace tritogen::teach {
namespace {

// A factor that so few tiles read is taken apart in them: that makes no copy of it.
constexpr int64_t kFewReaders = 2;

// Of a product whose parts are not worth a launch each tile takes both factors apart. Fewer operations, or in
// fewer tiles, are done without tensor cores before those are filled.
constexpr double kLeastFlopsOfParts = double{1u << 25};
constexpr int64_t kFewestTiles = 64;

// Neighbours in memory, 64 bytes of them, that make a dimension one to read along.
constexpr int64_t kNeighbours = 16;

// The least at once of what is multiplied as it lies. A product of half types needs no copies but these: more
// work than that pays for two more launches.
constexpr int64_t kLeastAtOnce = 4;
constexpr double kFlopsWorthAligning = double{1u << 31};
// Of products of half types what is computed of other numbers is stored first from so much work on.
constexpr double kFlopsWorthCasting = double{1u << 30};

// Three TF32 dots keep tensor cores as long as six of parts do, and need no copies: up to so many operations
// their products are done first, those of short sums always. Factors that do not lie along the sum pass
// through registers on their way, which is worth less.
constexpr double kFlopsOfTf32x3 = double{1u << 31};
constexpr int64_t kShortSum = 128;

// Whether the last dimension's neighbours are neighbours in memory.
bool RunsAlongMemory(const View& view) {
  int64_t run = 1;
  for (size_t i = view.sizes.size(); i-- > 0;) {
    if (view.sizes[i] == 1) continue;
    if (view.strides[i] != run) break;
    run *= view.sizes[i];
  }
  return run >= kNeighbours || run == view.numel();
}

// Whether every line along memory begins and ends where a load of so many elements does.
bool IsAligned(const View& view, int64_t at_once) {
  const auto aligned = [&](int64_t number) { return number % at_once == 0; };
  bool all = aligned(view.offset);
  for (size_t i = 0; i < view.sizes.size(); ++i)
    all &= view.sizes[i] == 1 || aligned(view.strides[i] == 1 ? view.sizes[i] : view.strides[i]);
  return all;
}

}  // namespace

// Whether a product whose factors could be made of parts is quicker by three TF32 dots of the factors as they
// lie. On an H200, a layer of 128 x 1000 by 3000: 0.74 times as fast as PyTorch by parts, 2.01 by these.
bool Builder::TakesTf32x3(const Value& a, const Value& b, int batch_dims, const std::vector<int64_t>& sizes,
                          int64_t inner) const {
  const double flops = FlopsOf(sizes, inner);
  constexpr int64_t kAtOnceOfFloat32 = 4;
  if (a.dtype != Dtype::kFloat32 || !UsesParts() || InAttention()) return false;
  for (const Value* factor : {&a, &b})
    if (!IsInMemory(*factor) || !IsAligned(factor->view, kAtOnceOfFloat32)) return false;
  if (!RunsAlongMemory(a.view)) return false;
  const size_t of_k = InnerOfSecond(b.view, batch_dims, inner).sizes.size();
  if (RunsAlongMemory(ToTheEnd(b.view, static_cast<size_t>(batch_dims), of_k)))
    return flops < kFlopsOfTf32x3 || inner <= kShortSum ||
           (flops < 2 * kFlopsOfTf32x3 && inner < kLongSumOfParts &&
            !FillProcessors(TilesOfParts(ResultOf(sizes, batch_dims))));
  return flops >= kFlopsWorthStoring && flops < kFlopsOfTf32x3Across;
}

// Whether the factors of a product of float32 that are read element by element are copied whole for three
// TF32 dots, instead of making parts of them: where few tiles read the one, its parts are made in each.
bool Builder::TakesCopies(const Value& a, int batch_dims, const std::vector<int64_t>& sizes,
                          int64_t inner) const {
  const Result result = ResultOf(sizes, batch_dims);
  return a.dtype == Dtype::kFloat32 && UsesParts() && result.batch == 1 &&
         RoundUp(inner, kAtOnce) < kLongSum && FlopsOf(sizes, inner) < kFlopsOfTf32x3 &&
         FewRead(std::min(result.m, result.n));
}

// Puts copies in the place of factors that are read element by element, whose lines run along the sum and are
// filled up with zeros. How long the sum is then.
int64_t Builder::Align(Value* a, Value* b, int batch_dims, const std::vector<int64_t>& sizes, int64_t inner) {
  const Result result = ResultOf(sizes, batch_dims);
  const double flops = FlopsOf(sizes, inner);
  const auto k = static_cast<size_t>(batch_dims);
  const bool plain = a->sizes().back() == inner && b->sizes().size() == k + 2 && b->sizes()[k] == inner;
  if (!plain || InAttention() || std::min(result.m, result.n) < kTile || !StoresWindows(a->dtype, flops) ||
      (IsHalf(a->dtype) && flops < kFlopsWorthAligning))
    return inner;
  const bool copies = TakesCopies(*a, batch_dims, sizes, inner);
  const bool keeps_a = copies || FewRead(result.n), keeps_b = copies || FewRead(result.m);
  if ((keeps_a || keeps_b) && inner < kTile) return inner;  // the sum is over before such loads are felt
  const int64_t at_once = IsHalf(a->dtype) || UsesTf32() || keeps_a || keeps_b ? kLeastAtOnce : kAtOnce;
  const auto copied = [&](const Value& v) { return IsInMemory(v) && !IsAligned(v.view, at_once); };
  const bool copies_a = copied(*a), copies_b = copied(*b);
  if (!copies_a && !copies_b) return inner;
  const bool fills_up = inner % at_once != 0;
  // What is kept as it lies is not copied for the other one's sake.
  const bool may_fill = IsInMemory(*a) && IsInMemory(*b) && (copies_a || !keeps_a) && (copies_b || !keeps_b);
  if (fills_up && !may_fill) return inner;
  // A sum that will be cut is filled up by a sixteenth at the most, to one that pieces of many lengths add up
  // to.
  const auto sixteenth = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(inner) / 16));
  const int64_t unit = IsCut(result, inner) ? std::max(kAtOnce, sixteenth) : kAtOnce;
  const int64_t whole = fills_up ? RoundUp(inner, unit) : inner;
  if (copies_a || fills_up) *a = FilledUp(*a, whole, keeps_a);
  if (copies_b || fills_up)
    *b = {ToTheEnd(FilledUp({ToTheEnd(b->view, k, 1), b->dtype}, whole, keeps_b).view, k, 1), b->dtype};
  return whole;
}

bool Builder::IsInMemory(const Value& value) const {
  return value.view.prim >= 0 && value.view.guards.empty() && !graph[value.view.prim].inlined;
}

// A copy with so many elements in its last dimension, of what it is the same many times of one. Of what is
// `kept` whole no parts are made that would be stored instead.
Value Builder::FilledUp(const Value& in, int64_t whole, bool kept) {
  const int64_t length = in.sizes().back();
  std::vector<Value> read = {{WithoutRepeats(in.view), in.dtype}};
  if (whole > length) {
    View& filled = read[0].view;
    filled.sizes.back() = whole;
    filled.guards = {{filled.rank() - 1, 0, length}};
    read.push_back(Index(filled.sizes, -1));
  }
  const std::string text = whole > length ? fmt::format("tl.where({{1}} < {}, {{0}}, 0.0)", length) : "{0}";
  const Value copy = Pointwise("copy", text, read, in.dtype, 0);
  if (IsHalf(in.dtype) || kept) Once("copy", copy);
  std::vector<int64_t> sizes = in.sizes();
  sizes.back() = whole;
  return {Expand(copy.view, sizes), in.dtype};
}

// What is computed while a tile is loaded (autocast's copy of a weight in half precision) keeps tensor cores
// waiting in every tile that reads it.
void Builder::StoreComputed(const Value& factor) {
  if (!IsInMemory(factor)) return;
  Prim& prim = graph.prims[factor.view.prim];
  prim.once |= prim.IsElementwise() && !prim.IsCopy();
}

// Parts and copies are stored where many tiles read them. A factor that one or two read is taken apart there,
// or read as it lies.
std::optional<Builder::Factors> Builder::StoredFactors(const Value& a, const Value& b, int batch_dims,
                                                       const std::vector<int64_t>& sizes, int64_t inner) {
  if (InAttention()) return std::nullopt;
  const Result result = ResultOf(sizes, batch_dims);
  const double flops = FlopsOf(sizes, inner);
  if (IsHalf(a.dtype) && StoresWindows(a.dtype, flops) && flops >= kFlopsWorthCasting) {
    if (!FewRead(result.n)) StoreComputed(a);
    if (!FewRead(result.m)) StoreComputed(b);
  }
  if (!StoresFactors(a.dtype, flops)) {
    const bool parts = a.dtype == Dtype::kFloat32 && UsesParts();
    const int64_t tiles = result.batch * CeilDiv(result.m, kTile) * CeilDiv(result.n, kTile / 2);
    const bool apart = parts && flops >= kLeastFlopsOfParts && tiles >= kFewestTiles;
    return apart ? std::optional(Factors{{a}, {b}, kParts, 0}) : std::nullopt;
  }
  if (UsesTf32()) {
    Factors factors{.a = {a}, .b = {b}};
    if (result.n > kTile) factors.a = {AlongTheSum(a)};
    if (result.m > kTile) {
      const auto first = static_cast<size_t>(batch_dims), rank = b.sizes().size(),
                 of_k = InnerOfSecond(b.view, batch_dims, inner).sizes.size();
      Value across = AlongTheSum({ToTheEnd(b.view, first, of_k), b.dtype});
      factors.b = {{ToTheEnd(across.view, first, rank - first - of_k), b.dtype}};
    }
    return factors;
  }
  const bool few_read_a = FewRead(result.n), few_read_b = FewRead(result.m);
  auto factor = [&](const Value& value, bool few_read) {
    return few_read || value.view.prim < 0 ? std::vector{value} : PartsWhereItLies(value);
  };
  return Factors{factor(a, few_read_a), factor(b, few_read_b), kParts, 0};
}

LowerOptions::Products Builder::Products() const {
  const bool allowed = node < 0 || AllowsTf32(options_.fp32_precision, program_->nodes[node].op);
  return options_.UsesTf32() && !allowed ? LowerOptions::Products::kBfloat16Parts : options_.products;
}

bool Builder::UsesTf32() const {
  return options_.UsesTf32() && !UsesParts();
}

bool Builder::FewRead(int64_t results) {
  return results <= kFewReaders * kTileOfParts;
}

bool Builder::StoresFactors(Dtype dtype, double flops) const {
  return dtype == Dtype::kFloat32 && StoresWindows(dtype, flops);
}

bool Builder::StoresWindows(Dtype dtype, double flops) const {
  return Products() != LowerOptions::Products::kAsTheyAre && FitsDot(dtype) && flops >= kFlopsWorthStoring;
}

std::vector<Value> Builder::StoredFactor(const Value& in) {
  return UsesTf32() || IsHalf(in.dtype) ? std::vector{AlongTheSum(in)} : Parts(in);
}

// What is infinite has no parts but itself: infinity less infinity is no number.
std::vector<Value> Builder::Parts(const Value& in) {
  Value high = Cast(in, Dtype::kBFloat16);
  Value rest = Pointwise("rest", "tl.where(tl.abs({1}) < float(\"inf\"), {0} - {1}, 0.0)", {in, high},
                         Dtype::kFloat32, 2);
  Value middle = Cast(rest, Dtype::kBFloat16);
  Value low = Cast(Pointwise("rest", "{0} - {1}", {rest, middle}, Dtype::kFloat32, 1), Dtype::kBFloat16);
  return {Once("high", high), Once("middle", middle), Once("low", low)};
}

// To nearest, ties away from zero. Tensor cores cut the last 13 places off instead, which errs 2.5 times as
// much. What is infinite or no number has no place to round.
Value Builder::RoundedToTf32(const Value& in) {
  return Once("rounded",
              Pointwise("rounded",
                        "tl.where(tl.abs({0}) < float(\"inf\"), (({0}.to(tl.int32, bitcast=True) + "
                        "0x1000) & -0x2000).to(tl.float32, bitcast=True), {0})",
                        {in}, Dtype::kFloat32, 4));
}

// A factor whose last dimension is summed over, for tensor cores, which read TF32 along the sum: as it is
// where it lies so in memory, otherwise a copy. What a kernel makes and would store is stored rounded.
Value Builder::AlongTheSum(const Value& in) {
  const PrimId id = in.view.prim;
  if (!IsInMemory(in)) return in;
  View view = in.view;
  if (!RunsAlongMemory(view)) {
    view = WithoutRepeats(view);
    const Value copy = IsHalf(in.dtype)
                           ? Once("copy", Pointwise("copy", "{0}", {{view, in.dtype}}, in.dtype, 0))
                           : RoundedToTf32({view, in.dtype});
    return {Expand(copy.view, in.sizes()), in.dtype};
  }
  if (IsHalf(in.dtype)) {
    graph.prims[id].once |= graph[id].IsElementwise();
    return in;
  }
  const Prim& maker = graph[id];
  const bool computed =
      maker.IsElementwise() || maker.kind == PrimKind::kMatmul || maker.kind == PrimKind::kScan;
  if ((!computed || maker.once) && Products() != LowerOptions::Products::kTf32OfCopies) return in;
  view.prim = RoundedToTf32({maker.IsCopy() ? maker.operands[0] : graph.Whole(id), in.dtype}).view.prim;
  return {view, in.dtype};
}

// In the order of the memory that the value is a view of, so that a transposed factor needs no copy.
std::vector<Value> Builder::PartsWhereItLies(const Value& in) {
  std::vector<Value> parts = Parts({graph.Whole(in.view.prim), in.dtype});
  for (Value& part : parts) {
    View view = in.view;
    view.prim = part.view.prim;
    part.view = std::move(view);
  }
  return parts;
}

}  // namespace tritogen::teach
