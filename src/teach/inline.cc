// InlineViews: which pointwise work is repeated where it is read.
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "teach/attention.h"
#include "teach/partition.h"

namespace tritogen::teach {
namespace {

constexpr int kMaxInlined = 16;         // pointwise steps that may be repeated for one reader
constexpr double kFlopsInProduct = 16;  // operations an element that a product may repeat in every tile
// Of a value that each of its readers' elements would compute again, so many times, it is as much work as
// hides behind memory; with so much of it in all a launch more is worth it.
constexpr double kManyTimes = 8, kMuchWork = 48, kWorthALaunch = 1 << 29;

// Instructions of an element, roughly. Most operations are one or a few.
double Instructions(const Prim& prim) {
  constexpr std::string_view kLong[] = {"libdevice.", "tl.sin(", "tl.cos(", "tl.erf("};
  constexpr double kOfLong = 32, kOfRemainder = 8;
  const auto count = [&](std::string_view part) {
    double found = 0;
    for (size_t at = prim.expr.find(part); at != std::string::npos; at = prim.expr.find(part, at + 1))
      ++found;
    return found;
  };
  double instructions = prim.flops + kOfRemainder * (count(" % ") + count(" // "));
  for (const std::string_view part : kLong) instructions += kOfLong * count(part);
  return instructions;
}

class Inliner {
 public:
  explicit Inliner(const Graph& graph) : graph_(graph) {}

  Graph Run() {
    for (Prim prim : graph_.prims) {
      for (size_t i = 0; i < prim.operands.size(); ++i) {
        View& view = prim.operands[i];
        if (prim.kind == PrimKind::kAttention && i == 0) {
          view = IntoScores(view, OperandDomain(prim, 0));
          continue;
        }
        if (view.prim >= 0) view.prim = moved_[view.prim];
        if (prim.IsProduct()) view = IntoProduct(prim, i);
        bool tile = prim.IsElementwise() || prim.IsLineWork() || prim.kind == PrimKind::kScatter;
        if (tile && i >= prim.FirstElementwise()) view = Inline(view);
        const bool memory = prim.kind == PrimKind::kCall || prim.IsAlone() ||
                            prim.kind == PrimKind::kJoined || i < prim.FirstElementwise();
        const bool cut = prim.IsLineWork() && !Splits(out_, view, ReduceDomain(prim), false);
        if (memory || cut) Store(view);
      }
      if (prim.kind == PrimKind::kMatmul && !prim.inlined) SumAlongMemory(&prim);
      if (prim.spread) prim.spread->total = moved_[prim.spread->total];
      moved_.push_back(out_.Add(std::move(prim)));
    }
    out_.TakeResults(graph_, moved_);
    for (const View& view : out_.outputs) Store(view);
    out_.RemoveUnused();
    return std::move(out_);
  }

 private:
  // Pointwise steps between the value and memory; more than allowed when a product or a reduction is among
  // them.
  int Cost(PrimId id) const {
    if (id < 0) return 0;
    const Prim& prim = out_[id];
    if (prim.kind == PrimKind::kSource || prim.kind == PrimKind::kCall) return 0;
    if (!prim.IsElementwise() || prim.once) return kMaxInlined + 1;
    int cost = prim.inlined ? 0 : 1;
    for (size_t i = prim.FirstElementwise(); i < prim.operands.size(); ++i) {
      cost += Cost(prim.operands[i].prim);
      if (cost > kMaxInlined) break;
    }
    return cost;
  }

  // A little work on a part of one value, or on it in another order: a kernel of its own unless its reader
  // does it. What it reads is stored in any case.
  bool IsLittleOfAPart(PrimId id) const {
    const Prim& prim = out_[id];
    if (prim.kind != PrimKind::kPointwise || prim.once || prim.flops > kFlopsInProduct) return false;
    const View* part = nullptr;
    for (const View& operand : prim.operands) {
      if (operand.prim < 0) continue;
      if (part != nullptr) return false;
      part = &operand;
    }
    return part != nullptr && !out_.IsWhole(*part) && !out_[part->prim].inlined &&
           DtypeSize(out_[part->prim].dtype) <= DtypeSize(prim.dtype);
  }

  void Store(const View& view) {
    if (view.prim >= 0) out_.prims[view.prim].inlined = false;
  }

  // The value's prim for this reader of it, who has still to read the operands through the view. Nothing
  // where it is another reader's already, under guards of his.
  std::optional<Prim> CopyFor(const View& view) const {
    Prim copy = out_[view.prim];
    if (!copy.guards.empty()) return std::nullopt;
    copy.sizes = view.sizes;
    copy.shape.clear();
    copy.joins = -1;
    if (copy.kind == PrimKind::kLoad) copy.guards = view.guards;
    return copy;
  }

  View Inline(const View& view) {
    if (view.prim < 0 || !out_[view.prim].IsElementwise() || out_.IsWhole(view)) return view;
    if (auto behind = BehindCopy(out_, view, /*finely=*/false)) return Inline(*behind);
    if (auto copy = IsRatherStored(view) ? std::nullopt : CopyThrough(view))
      return out_.Whole(out_.Add(*std::move(copy)));
    Store(view);  // index arithmetic, too: it cannot be repeated here
    return view;
  }

  std::optional<Prim> CopyThrough(const View& view) {
    if (Cost(view.prim) > kMaxInlined && !IsLittleOfAPart(view.prim)) return std::nullopt;
    auto copy = CopyFor(view);
    if (!copy) return std::nullopt;
    for (size_t i = copy->FirstElementwise(); i < copy->operands.size(); ++i) {
      auto through = Compose(view, copy->operands[i]);
      if (!through) return std::nullopt;
      copy->operands[i] = Inline(*through);
    }
    return copy;
  }

  // An operand of a product that is cheap to compute, or an indexed load, is computed tile by tile.
  View IntoProduct(const Prim& product, size_t operand) {
    View view = product.operands[operand];
    const std::vector<Segment> domain = OperandDomain(product, operand);
    for (auto behind = BehindCopy(out_, view, /*finely=*/true); behind && DigitsOf(*behind, domain, false);
         behind = BehindCopy(out_, view, /*finely=*/true)) {
      view = *behind;
    }
    if (view.prim < 0 || !out_[view.prim].IsElementwise() || Flops(view.prim) > kFlopsInProduct) return view;
    auto copy = IntoTile(view, domain);
    return copy ? *copy : view;
  }

  // What a product sums over may be several dimensions of its factors, in any order: it is to be one in which
  // the first factor, or else the second, is read along neighbours in memory.
  void SumAlongMemory(Prim* product) const {
    std::vector<std::vector<std::vector<Digit>>> digits;  // by operand and axis
    std::vector<size_t> of_k;                             // where k is among them
    for (size_t i = 0; i < product->operands.size(); ++i) {
      const View& view = product->operands[i];
      const auto of_axes = DigitsOf(view, OperandDomain(*product, i), false);
      if (view.prim < 0 || out_[view.prim].inlined || !view.guards.empty() || !of_axes) return;
      digits.push_back(*of_axes);
      of_k.push_back(product->Factor(i) == 0 ? 2 : 1);
    }
    const auto k = [&](size_t i) -> const std::vector<Digit>& { return digits[i][of_k[i]]; };
    for (size_t i = 1; i < digits.size(); ++i) {
      if (!std::ranges::equal(k(0), k(i), {}, &Digit::size, &Digit::size)) return;
    }
    const bool second = std::ranges::none_of(k(0), [](const Digit& digit) { return digit.stride == 1; });
    const std::vector<Digit>& leading = k(second ? digits.size() - 1 : 0);
    std::vector<size_t> order(leading.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return leading[i].stride; });
    if (std::ranges::is_sorted(order) || leading[order.back()].stride != 1) return;
    for (size_t i = 0; i < digits.size(); ++i) {
      View& view = product->operands[i];
      view.sizes.clear(), view.strides.clear();
      for (size_t axis = 0; axis < digits[i].size(); ++axis) {
        for (size_t at = 0; at < digits[i][axis].size(); ++at) {
          const Digit& digit = digits[i][axis][axis == of_k[i] ? order[at] : at];
          view.sizes.push_back(digit.size), view.strides.push_back(digit.stride);
        }
      }
    }
  }

  std::optional<View> IntoTile(const View& view, const std::vector<Segment>& domain) {
    if (!DigitsOf(view, domain, false)) return std::nullopt;
    if (view.prim < 0 || !out_[view.prim].IsElementwise() || out_[view.prim].once) return view;
    if (Cost(view.prim) > kMaxInlined && !IsLittleOfAPart(view.prim)) return view;
    auto copy = CopyFor(view);
    if (!copy) return std::nullopt;
    copy->inlined = true;
    for (size_t i = copy->FirstElementwise(); i < copy->operands.size(); ++i) {
      auto through = Compose(view, copy->operands[i]);
      if (!through) return std::nullopt;
      auto inside = IntoTile(*through, domain);
      if (!inside) return std::nullopt;
      copy->operands[i] = *inside;
    }
    return out_.Whole(out_.Add(*std::move(copy)));
  }

  // Work on the scores of attention, which `view` reads from the graph as it was, and what goes into it: all
  // of it is done on a tile of scores, but for what must be stored.
  View IntoScores(View view, const std::vector<Segment>& domain) {
    if (ScoresBehind(graph_, view.prim) >= 0) {
      Prim copy = graph_[view.prim];
      if (copy.kind == PrimKind::kMatmul) return out_.Whole(moved_[view.prim]);
      copy.sizes = view.sizes;
      copy.shape.clear();
      copy.inlined = true;
      for (View& operand : copy.operands) operand = IntoScores(ComposeFinely(view, operand).value(), domain);
      return out_.Whole(out_.Add(std::move(copy)));
    }
    if (view.prim < 0) return view;
    view.prim = moved_[view.prim];
    if (auto copy = IntoTile(view, domain)) return *copy;
    Store(view);
    return view;
  }

  // A table of sines, say, by which all of a tensor is multiplied, read along neighbours: a warp that reads
  // across it is done with the sines sooner.
  bool IsRatherStored(const View& view) const {
    size_t last = view.sizes.size();
    while (last > 0 && view.sizes[last - 1] == 1) --last;
    if (last > 0 && std::abs(view.strides[last - 1]) > 1) return false;
    const auto readers = static_cast<double>(view.numel());
    const double times = readers / static_cast<double>(Product(out_[view.prim].sizes));
    if (times < kManyTimes) return false;
    const double work = Sum(view.prim, Instructions, &instructions_);
    return work >= kMuchWork && work * readers >= kWorthALaunch;
  }

  double Flops(PrimId id) const {
    return Sum(
        id, [](const Prim& prim) { return prim.flops; }, &flops_);
  }

  // Over the pointwise steps between the value and memory, each once: what many readers share, as the steps
  // of a loop do, is reached in many ways.
  template <typename F>
  double Sum(PrimId id, const F& of, std::unordered_map<PrimId, double>* known) const {
    if (id < 0 || !out_[id].IsElementwise()) return 0;
    if (const auto found = known->find(id); found != known->end()) return found->second;
    double sum = of(out_[id]);
    for (size_t i = out_[id].FirstElementwise(); i < out_[id].operands.size(); ++i)
      sum += Sum(out_[id].operands[i].prim, of, known);
    return (*known)[id] = sum;
  }

  const Graph& graph_;
  Graph out_;
  std::vector<PrimId> moved_;  // by prim of `graph_`
  mutable std::unordered_map<PrimId, double> flops_ = {}, instructions_ = {};
};

}  // namespace

Graph InlineViews(const Graph& graph) {
  return Inliner(graph).Run();
}

}  // namespace tritogen::teach
