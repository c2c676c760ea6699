#include <algorithm>
#include <set>

#include "teach/partition.h"

namespace tritogen::teach {
namespace {

// Of one launch. Each takes the host 0.3 to 0.5 us, in whichever launch it stands; so this is for who reads
// the kernel.
constexpr size_t kMostPointers = 60;
// Of all launches together. What is made early is there for longer; so much is little beside the activations
// of a program that has so many weights.
constexpr int64_t kMostBytesEarly = int64_t{256} << 20;

// Results in another order want tiles of their own.
bool IsSmall(const Group& group) {
  return group.kind == GroupKind::kFlat && group.turned.empty() &&
         group.Size(AxisKind::kFlat) <= kMostSideBySide;
}

class Arranger {
 public:
  Arranger(const Graph& graph, const std::vector<Group>& groups)
      : graph_(graph), groups_(groups), placed_(groups.size(), false) {}

  std::vector<Group> Run() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (placed_[i]) continue;
      result_.push_back(IsSmall(groups_[i]) ? WithOthers(i) : groups_[i]);
      made_.insert(result_.back().stores.begin(), result_.back().stores.end());
    }
    return std::move(result_);
  }

 private:
  // The group, together with later ones that could as well run now. Nothing that they read is made from here
  // on, and who reads them comes later still, so no one waits for the other.
  Group WithOthers(size_t first) {
    std::vector<size_t> chosen = {first};
    std::set<PrimId> pointers = Pointers(groups_[first]);
    for (size_t i = first + 1; i < groups_.size(); ++i) {
      if (placed_[i] || !IsSmall(groups_[i]) || !IsReady(groups_[i])) continue;
      std::set<PrimId> together = Pointers(groups_[i]);
      together.insert(pointers.begin(), pointers.end());
      const int64_t bytes = BytesMade(groups_[i]);
      if (together.size() > kMostPointers || bytes > bytes_left_) continue;
      bytes_left_ -= bytes;
      pointers = std::move(together);
      chosen.push_back(i);
    }
    return chosen.size() == 1 ? groups_[first] : Joined(chosen);
  }

  Group Joined(const std::vector<size_t>& chosen) {
    Group joined;
    joined.kind = GroupKind::kSideBySide;
    for (size_t i : chosen) {
      const Group& group = groups_[i];
      joined.members.insert(joined.members.end(), group.members.begin(), group.members.end());
      joined.stores.insert(joined.stores.end(), group.stores.begin(), group.stores.end());
      joined.side.push_back(group);
      placed_[i] = true;
    }
    return joined;
  }

  std::set<PrimId> Pointers(const Group& group) const {
    std::set<PrimId> pointers = ReadBy(graph_, group);
    pointers.insert(group.stores.begin(), group.stores.end());
    return pointers;
  }

  bool IsReady(const Group& group) const {
    return std::ranges::all_of(ReadBy(graph_, group), [&](PrimId id) {
      const PrimKind kind = graph_[id].kind;  // of a concatenation, parts are among what is read
      return kind == PrimKind::kSource || kind == PrimKind::kJoined || made_.count(id) > 0;
    });
  }

  int64_t BytesMade(const Group& group) const {
    int64_t bytes = 0;
    for (PrimId id : group.stores)
      bytes += Product(graph_[id].sizes) * static_cast<int64_t>(DtypeSize(graph_[id].dtype));
    return bytes;
  }

  const Graph& graph_;
  const std::vector<Group>& groups_;
  std::vector<bool> placed_;  // in a launch of an earlier one
  std::set<PrimId> made_;     // by the groups of the result
  int64_t bytes_left_ = kMostBytesEarly;
  std::vector<Group> result_;
};

}  // namespace

std::vector<Group> SideBySide(const Graph& graph, const std::vector<Group>& groups) {
  return Arranger(graph, groups).Run();
}

}  // namespace tritogen::teach
