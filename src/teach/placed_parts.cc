#include "teach/placed_parts.h"

#include <algorithm>
#include <set>

namespace tritogen::teach {
namespace {

constexpr size_t kMostParts = 16;

bool IsKernelOfLines(GroupKind kind) {
  return kind == GroupKind::kMatmul || kind == GroupKind::kRows;
}

// Concatenations that are kernels of their own, or with others only to read their parts, of which products or
// rows make some; by their number in the lowered graph.
std::set<PrimId> Candidates(const Partitioned& before) {
  const Graph& graph = before.graph;
  const auto made_in_lines = [&](PrimId id) {
    return std::ranges::any_of(before.groups, [&](const Group& group) {
      const auto member = group.per_row.find(id);
      return member != group.per_row.end() && IsKernelOfLines(group.kind);
    });
  };
  std::set<PrimId> found;
  for (const Group& group : before.groups) {
    if (group.kind != GroupKind::kFlat) continue;
    for (PrimId id : group.stores) {
      const Prim& prim = graph[id];
      if (prim.joins < 0 || prim.operands.size() > kMostParts + 1) continue;
      const bool read_here = std::ranges::any_of(group.members, [&](PrimId member) {
        return std::ranges::count(graph[member].operands, id, &View::prim) > 0;
      });
      const bool lines = std::ranges::any_of(
          prim.operands, [&](const View& view) { return view.prim >= 0 && made_in_lines(view.prim); });
      if (!read_here && lines) found.insert(prim.joins);
    }
  }
  return found;
}

// A part, cut out of the view that a concatenation reads it by.
Prim PartOf(const Prim& whole, const View& read) {
  const Guard& guard = read.guards.back();
  const std::vector<int64_t> strides = ContiguousStrides(whole.sizes);
  View own = read;
  own.guards.pop_back();
  own.sizes[guard.dim] = guard.hi - guard.lo;
  own.offset += guard.lo * own.strides[guard.dim];
  Prim part;
  part.name = "part";
  part.origin = whole.origin;
  part.line = whole.line;
  part.dtype = whole.dtype;
  part.held = whole.held;
  part.sizes = own.sizes;
  part.operands = {own};
  part.expr = "{0}";
  part.compute = {whole.compute[0]};
  part.once = true;
  part.unit = whole.unit;
  part.place = View{whole.joins, guard.lo * strides[guard.dim], own.sizes, strides, {}};
  return part;
}

// Of most of what a scan makes, such as all but the last running sum, the whole is stored, as far as it is
// the part.
void StoreWhole(const Graph& graph, Prim* part) {
  const View& own = part->operands[0];
  const std::vector<int64_t>& sizes = graph[own.prim].sizes;
  if (graph[own.prim].kind != PrimKind::kScan || part->sizes == sizes || sizes.size() != part->sizes.size() ||
      own.strides != ContiguousStrides(sizes) || !own.guards.empty() || 2 * own.numel() < Product(sizes))
    return;
  View place = *part->place;
  place.sizes = sizes;
  int64_t rest = own.offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t first = sizes[i] > 1 ? rest / own.strides[i] : 0;
    rest -= first * own.strides[i];
    place.offset -= first * place.strides[i];
    if (own.sizes[i] < sizes[i]) place.guards.push_back({static_cast<int>(i), first, first + own.sizes[i]});
  }
  part->sizes = sizes;
  part->operands = {graph.Whole(own.prim)};
  part->place = std::move(place);
}

Graph WithParts(const Graph& lowered, const std::set<PrimId>& chosen) {
  Graph graph;
  std::vector<PrimId> moved;
  for (Prim prim : lowered.prims) {
    prim.Rename(moved);
    if (chosen.contains(prim.joins)) {
      std::vector<View> parts;
      for (size_t i = 0; i + 1 < prim.operands.size(); ++i) {  // the last one is an index
        Prim part = PartOf(prim, prim.operands[i]);
        if (part.operands[0].prim >= 0) StoreWhole(graph, &part);
        parts.push_back(graph.Whole(graph.Add(std::move(part))));
      }
      prim.kind = PrimKind::kJoined;
      prim.operands = std::move(parts);
      prim.expr.clear();
      prim.compute.clear();
    }
    moved.push_back(graph.Add(std::move(prim)));
  }
  graph.TakeResults(lowered, moved);
  return graph;
}

}  // namespace

std::optional<View> PlaceOfPart(const Graph& graph, PrimId id) {
  const Prim& part = graph[id];
  if (!part.place) return std::nullopt;
  const auto whole = std::ranges::find_if(graph.prims, [&](const Prim& prim) {
    return prim.kind == PrimKind::kJoined && std::ranges::count(prim.operands, id, &View::prim) > 0;
  });
  View place = *part.place;
  place.prim = static_cast<PrimId>(whole - graph.prims.begin());
  return place;
}

bool FitsPlaceOfPart(const Graph& graph, const Group& group, PrimId id, const std::vector<Segment>& domain,
                     bool per_row) {
  const auto place = PlaceOfPart(graph, id);
  if (!place) return true;
  const auto turn = group.turned.find(id);
  if (turn != group.turned.end() && !Reshape(*place, turn->second.sizes)) return false;
  return DigitsOf(group.InOrder(id, *place), domain, per_row).has_value();
}

bool ReadsPartOf(const Graph& graph, const Prim& prim, const std::vector<int>& group_of, int group) {
  return std::ranges::any_of(Reads(graph, prim), [&](const View& view) {
    return view.prim >= 0 && graph[view.prim].place && group_of[view.prim] == group;
  });
}

std::optional<Partitioned> PlaceParts(const Graph& lowered, const Partitioned& before, bool turns) {
  const std::set<PrimId> chosen = Candidates(before);
  if (chosen.empty()) return std::nullopt;
  Partitioned placed{InlineViews(WithParts(lowered, chosen)), {}};
  placed.groups = Partition(placed.graph, turns);
  if (BytesMoved(placed.graph, placed.groups) >= BytesMoved(before.graph, before.groups)) return std::nullopt;
  return placed;
}

}  // namespace tritogen::teach
