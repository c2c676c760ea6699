#include "teach/partition.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "base/error.h"
#include "teach/joins.h"
#include "teach/placed_parts.h"
#include "teach/windows.h"

namespace tritogen::teach {
namespace {

// What is cut passes through memory, and a kernel keeps no more values at a time for being long: the first
// limit is for who compiles it.
constexpr size_t kMaxMembers = 512, kMaxPointers = 24;
// Elements that a kernel over rows may store in another order, each then a piece of memory of its own: that
// costs about as much as a launch. Tiles of products, pointwise work and windows have neighbours both ways.
constexpr int64_t kFewApart = 1 << 19;

int64_t DomainSize(const std::vector<Segment>& domain) {
  int64_t n = 1;
  for (const Segment& segment : domain) n *= segment.size;
  return n;
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, bool turns)
      : graph_(graph), turns_(turns), readers_(ReadersOf(graph)), group_of_(graph.prims.size(), -1) {}

  std::vector<Group> Run() {
    for (PrimId id = 0; id < static_cast<PrimId>(graph_.prims.size()); ++id) {
      const Prim& prim = graph_[id];
      const bool work = prim.kind != PrimKind::kSource && prim.kind != PrimKind::kEmpty &&
                        prim.kind != PrimKind::kJoined && !prim.inlined;
      if (work) Place(id);
    }
    HandOver();
    FindStores();
    return InOrder();
  }

 private:
  void Place(PrimId id) {
    const Prim& prim = graph_[id];
    if (prim.kind == PrimKind::kCall) {
      for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {  // another result of the same call
        if (groups_[g].kind == GroupKind::kCall && graph_[groups_[g].members[0]].node.id == prim.node.id) {
          return Enter(id, g, false);
        }
      }
    } else if (prim.kind == PrimKind::kScatter) {
      Open(id);
      return AbsorbMakers(prim, group_of_[id]);
    } else if (!prim.IsProduct() && !prim.IsAlone()) {
      for (int g : Candidates(prim)) {
        if (!TryJoin(id, g)) continue;
        AbsorbMakers(prim, g);
        return;
      }
    }
    Open(id);
  }

  void Enter(PrimId id, int g, bool per_row) {
    groups_[g].members.push_back(id);
    groups_[g].per_row[id] = per_row;
    group_of_[id] = g;
  }

  void Open(PrimId id) {
    const Prim& prim = graph_[id];
    Group group;
    if (prim.kind == PrimKind::kCall) group.kind = GroupKind::kCall;
    if (prim.IsAlone()) group.kind = GroupKind::kAlone;
    if (prim.IsProduct()) {
      group.kind = GroupKind::kMatmul;
      group.domain = MatmulDomain(prim);
    } else if (prim.IsLineWork()) {
      group.kind = GroupKind::kRows;
      group.domain = ReduceDomain(prim);
    } else if (prim.kind == PrimKind::kScatter) {
      group.kind = GroupKind::kScatter;
      group.domain = {{AxisKind::kFlat, Product(prim.space), prim.space}};
    } else if (prim.IsElementwise()) {
      group.domain = {{AxisKind::kFlat, Product(prim.sizes), prim.Shape()}};
    }
    groups_.push_back(std::move(group));
    Enter(id, static_cast<int>(groups_.size()) - 1, prim.kind == PrimKind::kReduce);
  }

  // Kernels of the operands, products first, the newer first; then kernels that load one of them too, or that
  // another reduction may be in.
  std::vector<int> Candidates(const Prim& prim) const {
    std::set<int, std::greater<>> makers, readers;
    for (const View& view : Tiles(prim)) {
      if (view.prim < 0) continue;
      if (group_of_[view.prim] >= 0) makers.insert(group_of_[view.prim]);
      for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
        if (groups_[g].kind != GroupKind::kFlat && groups_[g].kind != GroupKind::kRows) continue;
        for (PrimId member : groups_[g].members) {
          for (const View& read : graph_[member].operands) {
            if (read == view) readers.insert(g);
          }
        }
      }
    }
    std::vector<int> all(makers.begin(), makers.end());
    // A product or a kernel over rows can take a pointwise one in, which cannot do the same with it.
    const auto rank = [&](int g) {
      return groups_[g].kind == GroupKind::kMatmul ? 0 : groups_[g].kind == GroupKind::kRows ? 1 : 2;
    };
    std::ranges::stable_sort(all, {}, rank);
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
      if (SharesLaunch(graph_, groups_[g], prim)) readers.insert(g);
    }
    for (int g : readers) {
      if (makers.count(g) == 0) all.push_back(g);
    }
    return all;
  }

  // Operands that are read element by element.
  static std::span<const View> Tiles(const Prim& prim) {
    return std::span(prim.operands).subspan(prim.FirstElementwise());
  }

  // An indexed load reads memory: what it reads from must be complete before its kernel starts, as must what
  // a scatter begins with.
  bool LoadsFrom(const Prim& prim, int g) const {
    return prim.FirstElementwise() == 1 && prim.operands[0].prim >= 0 &&
           group_of_[prim.operands[0].prim] == g;
  }

  bool ReadsJoinedBy(const Prim& prim, int g) const { return ReadsPartOf(graph_, prim, group_of_, g); }

  bool TryJoin(PrimId id, int g) {
    const Prim& prim = graph_[id];
    const Group& group = groups_[g];
    if (prim.unit != graph_[group.members[0]].unit || group.kind == GroupKind::kCall ||
        group.kind == GroupKind::kAlone || group.kind == GroupKind::kScatter ||
        group.members.size() >= kMaxMembers || ReadBy(graph_, group).size() >= kMaxPointers) {
      return false;
    }
    if (prim.kind == PrimKind::kTileReduce) return TryJoinTiles(id, g);
    if (LoadsFrom(prim, g) || IsForOtherLines(graph_, readers_, group, id)) return false;
    for (const View& view : Reads(graph_, prim)) {
      int other = view.prim < 0 ? -1 : group_of_[view.prim];
      if (other >= 0 && other != g && DependsOn(other, g)) return false;
    }
    if (ReadsJoinedBy(prim, g)) return false;
    if (prim.IsLineWork()) return TryJoinReduce(id, g);
    if (TryJoinElements(id, g)) return true;
    if (!turns_) return false;
    const auto turn = TurnOfReads(graph_, readers_, id, group);
    const bool apart = group.kind == GroupKind::kRows && !AreSimpleWindows(graph_, group);
    if (!turn || (apart && Product(prim.sizes) > kFewApart)) return false;
    groups_[g].turned[id] = *turn;
    if (TryJoinElements(id, g)) return true;
    groups_[g].turned.erase(id);
    return false;
  }

  bool TryJoinElements(PrimId id, int g) {
    const Group& group = groups_[g];
    const int64_t numel = Product(graph_[id].sizes);
    if (numel == DomainSize(group.domain) && Fits(id, group, group.domain, false)) {
      Enter(id, g, false);
      return true;
    }
    if (group.kind == GroupKind::kRows && numel == group.Size(AxisKind::kRow) &&
        Fits(id, group, group.domain, true)) {
      Enter(id, g, true);
      return true;
    }
    return false;
  }

  // The pointwise kernels of the other operands come along where they can, so that nothing is stored between.
  void AbsorbMakers(const Prim& prim, int g) {
    for (const View& view : Tiles(prim)) {
      int maker = view.prim < 0 ? -1 : group_of_[view.prim];
      if (maker < 0 || maker == g) continue;
      if (groups_[maker].kind == GroupKind::kFlat) TryAbsorb(maker, g);
      // Of two kernels over the same rows, too; what is there once for each row costs little to store.
      if (!groups_[maker].per_row.at(view.prim) && AreTwins(graph_, groups_[maker], groups_[g]))
        TryAbsorb(maker, g);
    }
  }

  void TryAbsorb(int maker, int g) {
    Group& from = groups_[maker];
    Group& to = groups_[g];
    const bool twins = from.kind == GroupKind::kRows;
    const bool per_row = DomainSize(from.domain) != DomainSize(to.domain);
    if (per_row && (to.kind != GroupKind::kRows || DomainSize(from.domain) != to.Size(AxisKind::kRow)))
      return;
    if (!from.turned.empty() && to.kind == GroupKind::kRows && DomainSize(from.domain) > kFewApart) return;
    if (graph_[from.members[0]].unit != graph_[to.members[0]].unit) return;
    if (from.members.size() + to.members.size() > kMaxMembers ||
        ReadBy(graph_, from).size() + ReadBy(graph_, to).size() > kMaxPointers)
      return;
    for (PrimId member : from.members) {
      if (!twins && !Fits(member, from, to.domain, per_row)) return;
    }
    for (PrimId member : from.members) {
      if (LoadsFrom(graph_[member], g) || ReadsJoinedBy(graph_[member], g)) return;
    }
    for (PrimId member : to.members) {
      if (LoadsFrom(graph_[member], maker) || ReadsJoinedBy(graph_[member], maker)) return;
      // Of a value that the same program computes, an element finds its own only.
      for (const View& view : Tiles(graph_[member])) {
        if (view.prim >= 0 && group_of_[view.prim] == maker && !IsOwn(to.InOrder(member, view), from)) return;
      }
      // A product reads whole rows and columns, not its own element.
      if (!graph_[member].IsProduct()) continue;
      for (const View& view : Reads(graph_, graph_[member])) {
        if (view.prim >= 0 && group_of_[view.prim] == maker) return;
      }
    }
    for (int need : Needs(maker)) {
      if (need != g && DependsOn(need, g)) return;
    }
    for (int need : Needs(g)) {
      if (need != maker && DependsOn(need, maker)) return;
    }
    for (PrimId member : from.members) Enter(member, g, twins ? from.per_row.at(member) : per_row);
    from.members.clear();
    to.turned.merge(from.turned);
    // In program order again; a product stays in front.
    std::sort(to.members.begin() + (to.kind == GroupKind::kMatmul ? 1 : 0), to.members.end());
  }

  // A reduction in the tiles of the product, or the rows, that its operand is made of.
  bool TryJoinTiles(PrimId id, int g) {
    const View& of = graph_[id].operands[0];
    if (group_of_[of.prim] != g || !IsOwn(of, groups_[g])) return false;
    if (groups_[g].kind != (groups_[g].per_row.at(of.prim) ? GroupKind::kRows : GroupKind::kMatmul))
      return false;
    Enter(id, g, true);
    return true;
  }

  bool TryJoinReduce(PrimId id, int g) {
    const Prim& prim = graph_[id];
    Group& group = groups_[g];
    std::vector<Segment> domain = ReduceDomain(prim);
    const View& in = prim.operands[0];
    if (in.prim >= 0 && group_of_[in.prim] == g && (group.per_row.at(in.prim) || !IsOwn(in, group)))
      return false;
    if (!Splits(graph_, in, domain, false) || NeedsAnotherWalk(graph_, group, prim, domain)) return false;
    const bool per_row = prim.kind == PrimKind::kReduce;
    if (group.kind == GroupKind::kRows && group.domain == domain) {
      Enter(id, g, per_row);
      return true;
    }
    // A pointwise kernel becomes one of rows and columns when all its members can be cut that way.
    if (group.kind != GroupKind::kFlat || DomainSize(domain) != DomainSize(group.domain) ||
        (!group.turned.empty() && DomainSize(domain) > kFewApart))
      return false;
    for (PrimId member : group.members) {
      if (!Fits(member, group, domain, false)) return false;
    }
    group.kind = GroupKind::kRows;
    group.domain = domain;
    Enter(id, g, per_row);
    return true;
  }

  // Whether a member, or who would be one, can work on these elements: its dimensions split at the domain's
  // borders, and what it reads of the group is at the same place.
  bool Fits(PrimId id, const Group& group, const std::vector<Segment>& domain, bool per_row) const {
    if (!FitsPlaceOfPart(graph_, group, id, domain, per_row)) return false;
    for (const View& read : Tiles(graph_[id])) {
      const View view = group.InOrder(id, read);
      if (!Splits(graph_, view, domain, per_row)) return false;
      auto digits = DigitsOf(view, domain, per_row);
      auto member = group.per_row.find(view.prim);
      if (member == group.per_row.end()) continue;
      const bool turned = group.turned.count(view.prim) > 0;
      if (member->second == per_row ? !IsOwn(view, group)
                                    : per_row || turned || !ReadsOwnRow(view, *digits, domain)) {
        return false;
      }
    }
    return true;
  }

  // Whether a member of the group finds what it reads of another one at the place of its own element.
  bool IsOwn(const View& view, const Group& group) const {
    return ReadAlike(view, group.InOrder(view.prim, graph_.Whole(view.prim)));
  }

  std::set<int> Needs(int g) const {
    std::set<int> needs;
    // Calls may draw random numbers, one after the other as in the program.
    for (int before = g - 1; groups_[g].kind == GroupKind::kCall && before >= 0 && needs.empty(); --before) {
      if (groups_[before].kind == GroupKind::kCall) needs.insert(before);
    }
    for (PrimId member : groups_[g].members) {
      for (const View& view : Reads(graph_, graph_[member])) {
        if (view.prim >= 0 && group_of_[view.prim] >= 0 && group_of_[view.prim] != g)
          needs.insert(group_of_[view.prim]);
      }
    }
    return needs;
  }

  bool DependsOn(int g, int on) const {
    std::set<int> seen;
    std::vector<int> pending = {g};
    while (!pending.empty()) {
      int next = pending.back();
      pending.pop_back();
      if (next == on) return true;
      if (!seen.insert(next).second) continue;
      for (int need : Needs(next)) pending.push_back(need);
    }
    return false;
  }

  // Pointwise work that a kernel does for another one alone, from what it stores in any case, is left to that
  // one, which reads as much: nothing more is stored.
  void HandOver() {
    const std::set<PrimId> stored = StoredOf(graph_, group_of_);
    for (PrimId id = static_cast<PrimId>(graph_.prims.size()) - 1; id >= 0; --id) {
      const int from = group_of_[id], to = OtherReader(graph_, readers_, group_of_, id);
      if (from < 0 || to < 0 || graph_[id].kind != PrimKind::kPointwise || groups_[from].per_row.at(id) ||
          !TakesOver(id, from, to, stored))
        continue;
      std::erase(groups_[from].members, id);
      groups_[from].per_row.erase(id);
      Enter(id, to, false);
      std::ranges::sort(groups_[to].members);
    }
  }

  bool TakesOver(PrimId id, int from, int to, const std::set<PrimId>& stored) const {
    const Prim& prim = graph_[id];
    const Group& group = groups_[to];
    if (group.kind != GroupKind::kRows || HasScans(graph_, group) || groups_[from].turned.contains(id) ||
        groups_[from].members.size() < 2 || prim.unit != graph_[group.members[0]].unit ||
        group.members.size() >= kMaxMembers || ReadBy(graph_, group).size() >= kMaxPointers ||
        DomainSize(group.domain) != Product(prim.sizes) || !Fits(id, group, group.domain, false))
      return false;
    const PrimId made_from = prim.operands.size() == 1 ? prim.operands[0].prim : -1;
    if (made_from < 0 || group_of_[made_from] != from || !stored.contains(made_from)) return false;
    const auto own = [&](const View& view) { return view.prim != id || ReadAlike(view, graph_.Whole(id)); };
    return std::ranges::all_of(
        readers_[id], [&](PrimId reader) { return std::ranges::all_of(graph_[reader].operands, own); });
  }

  void FindStores() {
    const std::set<PrimId> stored = StoredOf(graph_, group_of_);
    for (Group& group : groups_) {
      for (PrimId member : group.members) {
        if (stored.count(member) > 0) group.stores.push_back(member);
      }
    }
  }

  std::vector<Group> InOrder() {
    std::vector<Group> ordered;
    std::vector<bool> done(groups_.size(), false);
    auto visit = [&](auto& self, int g) -> void {
      if (done[g]) return;
      done[g] = true;
      for (int need : Needs(g)) self(self, need);
      if (!groups_[g].members.empty()) ordered.push_back(groups_[g]);  // else absorbed by another
    };
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) visit(visit, g);
    return ordered;
  }

  const Graph& graph_;
  const bool turns_;
  const Readers readers_;
  std::vector<int> group_of_;  // by prim; -1 for sources
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> Partition(const Graph& graph, bool turns) {
  return Partitioner(graph, turns).Run();
}

}  // namespace tritogen::teach
