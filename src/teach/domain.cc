// The elements that a group works on, cut into axes.
#include <algorithm>

#include "teach/count_text.h"
#include "teach/partition.h"

namespace tritogen::teach {

int64_t Group::Size(AxisKind axis) const {
  int64_t n = 1;
  for (const Segment& segment : domain) n *= segment.axis == axis ? segment.size : 1;
  return n;
}

View Group::InOrder(PrimId member, const View& view) const {
  const auto found = turned.find(member);
  if (found == turned.end()) return view;
  const auto& [sizes, order] = found->second;
  return Permute(view.sizes == sizes ? view : *Reshape(view, sizes), order);
}

std::vector<View> Reads(const Graph& graph, const Prim& prim) {
  std::vector<View> reads;
  for (const View& view : prim.operands) {
    if (view.prim >= 0 && graph[view.prim].inlined) {
      std::vector<View> behind = Reads(graph, graph[view.prim]);
      reads.insert(reads.end(), behind.begin(), behind.end());
    } else {
      reads.push_back(view);
      if (view.prim < 0 || graph[view.prim].kind != PrimKind::kJoined) continue;
      const std::vector<View>& parts = graph[view.prim].operands;
      reads.insert(reads.end(), parts.begin(), parts.end());
    }
  }
  return reads;
}

std::set<PrimId> ReadBy(const Graph& graph, const Group& group) {
  std::set<PrimId> read;
  for (PrimId member : group.members) {
    for (const View& view : Reads(graph, graph[member])) {
      if (view.prim >= 0 && group.per_row.count(view.prim) == 0) read.insert(view.prim);
    }
  }
  return read;
}

int64_t BytesMoved(const Graph& graph, const std::vector<Group>& groups) {
  int64_t bytes = static_cast<int64_t>(groups.size()) * kBytesOfLaunch;
  const auto add = [&](PrimId id) {
    bytes += Product(graph[id].sizes) * static_cast<int64_t>(DtypeSize(graph[id].dtype));
  };
  for (const Group& group : groups) {
    std::ranges::for_each(group.stores, add);
    for (PrimId id : ReadBy(graph, group)) {
      if (!graph[id].place) add(id);  // the memory that it lies in is read
    }
  }
  return bytes;
}

std::vector<int64_t> FactorsOf(const std::vector<Segment>& domain, AxisKind axis) {
  std::vector<int64_t> factors;
  for (const Segment& segment : domain) {
    if (segment.axis != axis) continue;
    if (segment.factors.empty()) factors.push_back(segment.size);
    factors.insert(factors.end(), segment.factors.begin(), segment.factors.end());
  }
  return factors;
}

std::vector<Segment> ReduceDomain(const Prim& prim) {
  std::vector<Segment> domain;
  for (size_t i = 0; i < prim.space.size(); ++i) {
    if (prim.space[i] == 1) continue;
    AxisKind axis = prim.reduced[i] ? AxisKind::kColumn : AxisKind::kRow;
    if (!domain.empty() && domain.back().axis == axis) {
      domain.back().size *= prim.space[i];
      domain.back().factors.push_back(prim.space[i]);
    } else {
      domain.push_back({axis, prim.space[i], {prim.space[i]}});
    }
  }
  return domain;
}

bool Splits(const Graph& graph, const View& view, const std::vector<Segment>& domain, bool per_row) {
  if (!DigitsOf(view, domain, per_row)) return false;
  if (view.prim < 0 || !graph[view.prim].inlined) return true;
  const Prim& prim = graph[view.prim];
  return std::all_of(prim.operands.begin() + static_cast<int64_t>(prim.FirstElementwise()),
                     prim.operands.end(),
                     [&](const View& operand) { return Splits(graph, operand, domain, per_row); });
}

std::optional<View> BehindCopy(const Graph& graph, const View& view, bool finely) {
  if (view.prim < 0) return std::nullopt;
  const Prim& copy = graph[view.prim];
  if (!copy.IsCopy() || copy.once || copy.operands[0].prim < 0 ||
      graph[copy.operands[0].prim].dtype != copy.dtype)
    return std::nullopt;
  return finely ? ComposeFinely(view, copy.operands[0]) : Compose(view, copy.operands[0]);
}

namespace {

// The dimensions of k that outer products are written out along, behind those that a loop walks along.
std::vector<Segment> StepsAndTaps(const std::vector<int64_t>& factors, int64_t taps) {
  size_t border = factors.size();
  for (int64_t size = 1; size < taps;) size *= factors[--border];
  const auto at = factors.begin() + static_cast<int64_t>(border);
  const std::vector<int64_t> steps(factors.begin(), at), written(at, factors.end());
  return {{AxisKind::kColumn, Product(steps), steps}, {AxisKind::kFlat, taps, written}};
}

}  // namespace

std::vector<Segment> MatmulDomain(const Prim& prim) {
  const std::vector<int64_t>&sizes = prim.TileSizes(), &shape = prim.pieces > 1 ? sizes : prim.Shape();
  const auto first_m = sizes.begin() + prim.batch_dims;
  const std::vector<int64_t> batch(sizes.begin(), first_m), m(first_m, sizes.end() - 1);
  return {{AxisKind::kBatch, Product(batch), batch},
          {AxisKind::kM, Product(m), m},
          {AxisKind::kN, sizes.back(), FactorsAt(shape, 1, sizes.back())}};
}

std::vector<Segment> OperandDomain(const Prim& prim, size_t operand) {
  const std::vector<Segment> tile = MatmulDomain(prim);
  const std::vector<int64_t> factors = FactorsAt(prim.operands[0].sizes, 1, prim.inner);
  std::vector<Segment> domain = {tile[0]}, k = {{AxisKind::kFlat, prim.inner, factors}};
  if (prim.taps > 0) k = StepsAndTaps(factors, prim.taps);
  if (prim.Factor(operand) == 0) domain.push_back(tile[1]);
  domain.insert(domain.end(), k.begin(), k.end());
  if (prim.Factor(operand) == 1) domain.push_back(tile[2]);
  return domain;
}

std::optional<std::vector<std::vector<Digit>>> DigitsOf(const View& view, const std::vector<Segment>& domain,
                                                        bool per_row) {
  std::vector<int64_t> sizes;
  for (const Segment& segment : domain) {
    if (!per_row || segment.axis != AxisKind::kColumn) sizes.push_back(segment.size);
  }
  return SplitIntoAxes(view, sizes);
}

std::optional<Group> CutInTwo(const Graph& graph, const Group& group, const std::vector<int64_t>& sizes,
                              size_t border) {
  const auto at = sizes.begin() + static_cast<int64_t>(border);
  const std::vector<int64_t> before(sizes.begin(), at), behind(at, sizes.end());
  const bool flat = group.kind == GroupKind::kFlat;
  if (std::ranges::any_of(group.members, [&](PrimId id) { return graph[id].place.has_value(); }))
    return std::nullopt;
  Group cut = group;
  cut.kind = GroupKind::kRows;
  cut.domain = {{AxisKind::kRow, Product(before), before},
                {flat ? AxisKind::kColumn : AxisKind::kN, Product(behind), behind}};
  if (!flat) cut.domain.push_back(group.domain.back());
  for (PrimId member : group.members) {
    const Prim& prim = graph[member];
    const bool per_row = group.per_row.at(member) && prim.kind != PrimKind::kReduce;
    for (size_t i = prim.FirstElementwise(); i < prim.operands.size(); ++i) {
      if (!Splits(graph, group.InOrder(member, prim.operands[i]), cut.domain, per_row)) return std::nullopt;
    }
  }
  return cut;
}

std::optional<Group> CutLastDimension(const Graph& graph, const Group& group,
                                      const std::vector<int64_t>& sizes) {
  const auto last = std::find_if(sizes.rbegin(), sizes.rend(), [](int64_t size) { return size > 1; });
  if (last == sizes.rend()) return std::nullopt;
  return CutInTwo(graph, group, sizes, static_cast<size_t>(sizes.rend() - last) - 1);
}

std::vector<Digit> AxisDigits(const std::vector<std::vector<Digit>>& digits,
                              const std::vector<Segment>& domain, bool per_row, AxisKind axis) {
  std::vector<Digit> joined;
  size_t at = 0;
  for (const Segment& segment : domain) {
    if (per_row && segment.axis == AxisKind::kColumn) continue;
    if (segment.axis == axis) joined.insert(joined.end(), digits[at].begin(), digits[at].end());
    ++at;
  }
  return MergeDigits(joined);
}

bool IsSort(const Prim& prim) {
  return prim.kind == PrimKind::kScan && prim.reduce == ReduceOp::kSort;
}

namespace {

bool IsSelection(const Prim& prim) {
  return prim.kind == PrimKind::kCandidates ||
         (prim.kind == PrimKind::kReduce && prim.reduce == ReduceOp::kOfRank);
}

}  // namespace

bool HasSelections(const Graph& graph, const Group& group) {
  return std::ranges::any_of(group.members, [&](PrimId id) { return IsSelection(graph[id]); });
}

bool HasScans(const Graph& graph, const Group& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](PrimId id) { return graph[id].kind == PrimKind::kScan; });
}

bool HasSorts(const Graph& graph, const Group& group) {
  return std::ranges::any_of(group.members, [&](PrimId id) { return IsSort(graph[id]); });
}

int64_t LongestHeldScan(const std::vector<Segment>& domain, bool sorts) {
  return !sorts && domain.back().axis == AxisKind::kRow ? kHeldScanAcross : kHeldScan;
}

bool NeedsAnotherWalk(const Graph& graph, const Group& group, const Prim& prim,
                      const std::vector<Segment>& domain) {
  int64_t columns = 1;
  for (const Segment& segment : domain) columns *= segment.axis == AxisKind::kColumn ? segment.size : 1;
  if (columns <= LongestHeldScan(domain, IsSort(prim) || HasSorts(graph, group))) return false;
  if (IsSelection(prim) ? HasScans(graph, group)
                        : prim.kind == PrimKind::kScan && HasSelections(graph, group))
    return true;            // which is not walked along
  std::set<PrimId> behind;  // of a scan
  const auto reads_one = [&](const Prim& reader) {
    const std::vector<View> reads = Reads(graph, reader);
    return std::any_of(reads.begin(), reads.end(),
                       [&](const View& view) { return behind.count(view.prim) > 0; });
  };
  for (PrimId member : group.members) {
    const bool scan = graph[member].kind == PrimKind::kScan;
    if (scan && prim.kind == PrimKind::kScan && graph[member].backwards != prim.backwards) return true;
    if (scan || reads_one(graph[member])) behind.insert(member);
  }
  return prim.kind == PrimKind::kReduce && reads_one(prim);
}

}  // namespace tritogen::teach
