#include "teach/circular_pads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tritogen::teach {
namespace {

// Places [begin, end) along a dimension hold those of a source from `from` on.
struct Segment {
  int64_t begin, end, from;
  bool operator==(const Segment&) const = default;
};
using Segments = std::vector<Segment>;

// What a tensor holds of a source: the product of what its dimensions say. Other places hold nothing.
struct Holding {
  NodeRef source;
  std::vector<Segments> along;
};

Segments Within(const Segments& segments, int64_t begin, int64_t end, int64_t moved) {
  Segments within;
  for (const Segment& s : segments) {
    const int64_t first = std::max(s.begin, begin), last = std::min(s.end, end);
    if (first < last) within.push_back({first + moved, last + moved, s.from + first - s.begin});
  }
  return within;
}

// Neighbours that go on where the other ends become one.
Segments InOrder(Segments segments) {
  std::ranges::sort(segments, {}, &Segment::begin);
  Segments joined;
  for (const Segment& s : segments) {
    if (!joined.empty() && joined.back().end == s.begin &&
        joined.back().from + s.begin - joined.back().begin == s.from) {
      joined.back().end = s.end;
    } else {
      joined.push_back(s);
    }
  }
  return joined;
}

class CircularPads {
 public:
  explicit CircularPads(ProgramEdit& edit) : edit_(edit) {}

  bool Replace() {
    ProgramEdit::Places places;
    const std::vector<bool> needed = edit_.Needed();
    for (NodeId id = 0, end = static_cast<NodeId>(edit_.program().nodes.size()); id < end; ++id) {
      if (!needed[id] || edit_.CallOf(id, "slice_scatter") == nullptr) continue;
      if (const auto padded = Padded({id, 0})) places.emplace_back(NodeRef{id, 0}, *padded);
    }
    edit_.Replace(places);
    return !places.empty();
  }

 private:
  const std::vector<int64_t>& Sizes(NodeRef ref) const { return edit_.ShapeOf(ref).sizes; }

  struct Range {
    int64_t dim, begin, end;
  };
  // Of a slice, or what one is written to; nothing where it has steps.
  std::optional<Range> RangeOf(const OpCall& call, const std::vector<int64_t>& sizes) const {
    int64_t dim = AsInt(call.args["dim"]).value_or(0);
    if (dim < 0) dim += static_cast<int64_t>(sizes.size());
    if (AsInt(call.args["step"]).value_or(1) != 1 || dim < 0 || dim >= static_cast<int64_t>(sizes.size()))
      return std::nullopt;
    const int64_t size = sizes[dim];
    const auto place = [&](const char* name, int64_t otherwise) {
      const int64_t given = AsInt(call.args[name]).value_or(otherwise);
      return std::clamp<int64_t>(given < 0 ? given + size : given, 0, size);
    };
    return Range{dim, place("start", 0), place("end", size)};
  }

  bool IsEmpty(NodeRef ref) const {
    const OpCall* call = edit_.CallOf(ref.id);
    if (call != nullptr && call->row->name == "slice") {
      const NodeRef* self = AsRef(call->args["self"]);
      return self != nullptr && IsEmpty(*self);
    }
    return call != nullptr && (call->row->name == "empty" || call->row->name == "empty_like");
  }

  Holding Itself(NodeRef ref) const {
    Holding holding{ref, {}};
    for (const int64_t size : Sizes(ref)) holding.along.push_back({{0, size, 0}});
    return holding;
  }

  // Of results of slices and of what is written to slices; others hold themselves.
  std::optional<Holding> HoldingOf(NodeRef ref) {
    const std::pair key(ref.id, ref.result);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_[key] = FindHolding(ref);
  }

  std::optional<Holding> FindHolding(NodeRef ref) {
    const OpCall* call = edit_.CallOf(ref.id);
    const bool slices = call != nullptr && call->row->name == "slice";
    if (!slices && (call == nullptr || call->row->name != "slice_scatter")) return Itself(ref);
    const NodeRef *self = AsRef(call->args["self"]), *src = slices ? self : AsRef(call->args["src"]);
    if (self == nullptr || src == nullptr) return std::nullopt;
    const auto range = RangeOf(*call, Sizes(*self));
    auto holding = HoldingOf(*src);
    if (!range || !holding) return std::nullopt;
    Segments& along = holding->along[range->dim];
    if (slices) {
      along = Within(along, range->begin, range->end, -range->begin);
      return holding;
    }
    along = Within(along, 0, range->end - range->begin, range->begin);
    if (!IsEmpty(*self)) {
      const auto before = HoldingOf(*self);
      if (!before || before->source != holding->source) return std::nullopt;
      for (size_t d = 0; d < before->along.size(); ++d) {
        if (d != static_cast<size_t>(range->dim) && before->along[d] != holding->along[d])
          return std::nullopt;
      }
      const Segments& kept = before->along[range->dim];
      for (const Segment& s : Within(kept, 0, range->begin, 0)) along.push_back(s);
      for (const Segment& s : Within(kept, range->end, Sizes(*self)[range->dim], 0)) along.push_back(s);
    }
    along = InOrder(std::move(along));
    return holding;
  }

  // Place i holds that of the source at `first` + (i - moved) modulo `length`.
  struct Turn {
    int64_t first, length, moved;
  };
  // Nothing where a place holds nothing or something else.
  static std::optional<Turn> TurnOf(const Segments& segments, int64_t places) {
    if (segments.empty()) return std::nullopt;
    const auto end_of = [](const Segment& s) { return s.from + s.end - s.begin; };
    const int64_t first = std::ranges::min(segments, {}, &Segment::from).from;
    const int64_t length = end_of(std::ranges::max(segments, {}, end_of)) - first;
    const int64_t shift = segments[0].begin - segments[0].from;
    int64_t at = 0;
    for (const Segment& s : segments) {
      if (s.begin != at || (s.begin - s.from - shift) % length != 0) return std::nullopt;
      at = s.end;
    }
    if (at != places) return std::nullopt;
    const int64_t moved = (shift + first) % length;
    return Turn{first, length, moved < 0 ? moved + length : moved};
  }

  // By selections; nothing where it is no padding that goes round.
  std::optional<NodeRef> Padded(NodeRef ref) {
    const auto holding = HoldingOf(ref);
    if (!holding || holding->source == ref) return std::nullopt;
    const std::vector<int64_t> sizes = Sizes(ref), from = Sizes(holding->source);
    std::vector<Turn> turns;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const auto turn = TurnOf(holding->along[d], sizes[d]);
      if (!turn) return std::nullopt;
      turns.push_back(*turn);
    }
    const auto is_one = [](const Segments& along) { return along.size() == 1; };
    if (std::ranges::all_of(holding->along, is_one)) return std::nullopt;
    NodeRef result = holding->source;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (holding->along[d] != Segments{{0, from[d], 0}}) result = Selected(result, d, sizes[d], turns[d]);
    }
    return result;
  }

  NodeRef Selected(NodeRef of, size_t dim, int64_t places, const Turn& turn) {
    Shape shape = edit_.ShapeOf(of);
    const Shape line{Dtype::kInt32, {places}};
    NodeRef index = edit_.Add("aten::arange", {Arg{places}}, line);
    const auto add = [&](int64_t number) {
      if (number != 0) index = edit_.Add("aten::add.Tensor", {Arg{index}, Arg{number}}, line);
    };
    add(turn.moved == 0 ? 0 : turn.length - turn.moved);
    index = edit_.Add("aten::fmod.Scalar", {Arg{index}, Arg{turn.length}}, line);
    add(turn.first);
    shape.sizes[dim] = places;
    return edit_.Add("aten::index_select", {Arg{of}, Arg{static_cast<int64_t>(dim)}, Arg{index}}, shape);
  }

  ProgramEdit& edit_;
  std::map<std::pair<NodeId, int>, std::optional<Holding>> known_;
};

}  // namespace

bool SelectCircularly(ProgramEdit& edit) {
  return CircularPads(edit).Replace();
}

}  // namespace tritogen::teach
