#include "synth/elimination.h"

#include <cmath>
#include <memory>
#include <numeric>

#include "base/error.h"

namespace tritogen::synth {
namespace {

constexpr double kNever = 1e300;

}  // namespace

// The elimination at work: tables that are not yet used up, and what each node would cost.
template <typename Count>
class Elimination<Count>::Run {
 public:
  Run(const Network& network, size_t max_rows, Elimination* out)
      : network_(network), max_rows_(max_rows), out_(*out), tables_of_(network.sizes.size()) {}

  void All(int last) {
    const int nodes = static_cast<int>(network_.sizes.size());
    out_.steps_.reserve(nodes);
    CellCounts();
    for (const Relation& relation : network_.relations) {
      Table table{.keys = &relation.keys};
      int shift = 0;
      for (int node : relation.nodes) {
        table.fields.push_back({node, shift});
        shift += network_.Width(node);
      }
      AddTable(std::move(table));
    }
    std::vector<double> cost(nodes, -1);
    for (int done = 0; done < nodes; ++done) {
      int best = -1;
      for (int node = 0; node < nodes; ++node) {
        if (eliminated_[node] || (node == last && done + 1 < nodes)) continue;
        if (cost[node] < 0) cost[node] = Cost(node);
        if (best < 0 || cost[node] < cost[best]) best = node;
      }
      if (cost[best] > 4.0 * static_cast<double>(max_rows_)) throw TooLarge();  // sooner rather than later
      for (int neighbour : Neighbours(best)) cost[neighbour] = -1;
      Eliminate(best);
    }
    out_.total_ = Count(1);
    for (int root : out_.roots_) {
      const Step& step = out_.steps_[root];
      out_.total_ = step.totals.empty() ? Count(0) : Times(out_.total_, step.totals[0]);
    }
  }

 private:
  // Every node needs a table to take its states from; a cell of several values counts as many times.
  void CellCounts() {
    eliminated_.resize(network_.sizes.size());
    std::vector<bool> related(network_.sizes.size());
    for (const Relation& relation : network_.relations) {
      for (int node : relation.nodes) related[node] = true;
    }
    for (size_t node = 0; node < network_.sizes.size(); ++node) {
      std::vector<Count> weights;
      bool plain = related[node];
      for (int state = 0; state < network_.sizes[node]; ++state) {
        const int64_t count = CellSize(static_cast<int>(node), state);
        weights.push_back(Count(static_cast<uint64_t>(count)));
        plain &= count == 1;
      }
      if (plain) continue;
      auto keys = std::make_unique<std::vector<uint64_t>>(weights.size());
      std::iota(keys->begin(), keys->end(), 0);
      Table table{.fields = {{static_cast<int>(node), 0}}, .keys = keys.get()};
      own_weights_.push_back(std::make_unique<std::vector<Count>>(std::move(weights)));
      own_keys_.push_back(std::move(keys));
      table.weights = own_weights_.back().get();
      AddTable(std::move(table));
    }
  }

  int64_t CellSize(int node, int state) const {
    if (node >= static_cast<int>(network_.cells.size())) return 1;
    const Domain::Range& cell = network_.cells[node][state];
    return cell.high - cell.low + 1;
  }

  void AddTable(Table table) {
    for (const Field& field : table.fields)
      tables_of_[field.node].push_back(static_cast<int>(tables_.size()));
    tables_.push_back(std::move(table));
  }

  std::vector<int> TablesOf(int node) const {
    std::vector<int> tables;
    for (int t : tables_of_[node]) {
      if (!tables_[t].used) tables.push_back(t);
    }
    return tables;
  }

  std::vector<int> Neighbours(int node) const {
    std::vector<int> nodes;
    for (int t : TablesOf(node)) {
      for (const Field& field : tables_[t].fields) {
        if (field.node != node && std::find(nodes.begin(), nodes.end(), field.node) == nodes.end())
          nodes.push_back(field.node);
      }
    }
    return nodes;
  }

  // About how many rows the join for this node would have.
  double Cost(int node) const {
    std::vector<int> tables = TablesOf(node), scope{node};
    std::sort(tables.begin(), tables.end(),
              [&](int a, int b) { return tables_[a].keys->size() > tables_[b].keys->size(); });
    double rows = 1;
    int width = network_.Width(node);
    bool first = true;
    for (int t : tables) {
      double matches = static_cast<double>(tables_[t].keys->size());
      for (const Field& field : tables_[t].fields) {
        if (std::find(scope.begin(), scope.end(), field.node) != scope.end() &&
            !(first && field.node == node)) {
          matches /= network_.sizes[field.node];
        } else if (field.node != node) {
          scope.push_back(field.node);
          width += network_.Width(field.node);
        }
      }
      rows *= first ? matches : std::max(matches, 0.5);
      first = false;
    }
    return width > 64 ? kNever : rows;
  }

  void Eliminate(int node) {
    const std::vector<int> tables = TablesOf(node);
    std::vector<Field> layout{{node, 0}};
    int shift = network_.Width(node);
    for (int other : Neighbours(node)) {
      layout.push_back({other, shift});
      shift += network_.Width(other);
    }
    if (shift > 64) throw TooLarge();
    Finish(node, layout, tables, Join(layout, tables));
  }

  uint64_t Mask(int node) const { return (uint64_t{1} << network_.Width(node)) - 1; }

  // The table's rows in the layout of the join.
  Joined Moved(const Table& table, const std::vector<Field>& layout) const {
    Joined result;
    result.keys.resize(table.keys->size());
    for (const Field& field : table.fields) {
      const Field* to = &layout[0];
      while (to->node != field.node) ++to;
      const uint64_t mask = Mask(field.node);
      result.mask |= to->shift < 64 ? mask << to->shift : 0;
      if (mask == 0) continue;
      for (size_t i = 0; i < result.keys.size(); ++i)
        result.keys[i] |= ((*table.keys)[i] >> field.shift & mask) << to->shift;
    }
    return result;
  }

  Joined Join(const std::vector<Field>& layout, std::vector<int> tables) const {
    std::sort(tables.begin(), tables.end(),
              [&](int a, int b) { return tables_[a].keys->size() > tables_[b].keys->size(); });
    Joined all = Moved(tables_[tables[0]], layout);
    if (const auto* weights = tables_[tables[0]].weights)
      all.weights = *weights;
    else
      all.weights.assign(all.keys.size(), Count(1));
    std::vector<Joined> moved;
    for (size_t i = 1; i < tables.size(); ++i) moved.push_back(Moved(tables_[tables[i]], layout));
    std::vector<bool> done(moved.size());
    for (size_t turn = 0; turn < moved.size(); ++turn) {  // next the one that adds the fewest new bits
      size_t best = moved.size();
      auto fresh = [&](size_t i) { return std::popcount(moved[i].mask & ~all.mask); };
      for (size_t i = 0; i < moved.size(); ++i) {
        if (!done[i] && (best == moved.size() || fresh(i) < fresh(best))) best = i;
      }
      all = JoinTwo(all, moved[best], tables_[tables[best + 1]].weights);
      done[best] = true;
    }
    return all;
  }

  Joined JoinTwo(const Joined& a, const Joined& b, const std::vector<Count>* weights) const {
    const uint64_t shared = a.mask & b.mask;
    const int low = shared == 0 ? 0 : std::countr_zero(shared);
    KeyIndex index(b.keys.size(), std::bit_width(shared) - low);
    std::vector<int> head, rows, next(b.keys.size(), -1);  // rows of b with one key are a list
    for (size_t row = b.keys.size(); row-- > 0;) {
      const size_t id = index.Insert((b.keys[row] & shared) >> low);
      if (id == head.size()) head.push_back(-1), rows.push_back(0);
      next[row] = head[id];
      head[id] = static_cast<int>(row);
      ++rows[id];
    }
    std::vector<int> matches(a.keys.size());
    size_t total = 0;
    for (size_t i = 0; i < a.keys.size(); ++i) {
      matches[i] = index.Find((a.keys[i] & shared) >> low);
      if (matches[i] >= 0) total += rows[matches[i]];
    }
    if (total > max_rows_) throw TooLarge();
    Joined result;
    result.mask = a.mask | b.mask;
    result.keys.resize(total);
    result.weights.resize(total);
    size_t at = 0;
    for (size_t i = 0; i < a.keys.size(); ++i) {
      for (int row = matches[i] < 0 ? -1 : head[matches[i]]; row >= 0; row = next[row], ++at) {
        result.keys[at] = a.keys[i] | b.keys[row];
        result.weights[at] = weights ? Times(a.weights[i], (*weights)[row]) : a.weights[i];
      }
    }
    return result;
  }

  // Groups the rows by what is left when `node` is gone, and makes the table of the groups' totals.
  void Finish(int node, const std::vector<Field>& layout, const std::vector<int>& tables, const Joined& all) {
    Step step;
    step.node = node;
    const int width = network_.Width(node);
    for (size_t i = 1; i < layout.size(); ++i) step.key.push_back({layout[i].node, layout[i].shift - width});
    const Field& last = layout.back();
    step.groups =
        KeyIndex(all.keys.size(), layout.size() == 1 ? 0 : last.shift + network_.Width(last.node) - width);
    std::vector<int> group(all.keys.size());
    for (size_t i = 0; i < all.keys.size(); ++i)
      group[i] = step.groups.Insert(width < 64 ? all.keys[i] >> width : 0);
    step.begin.assign(step.groups.size() + 1, 0);
    for (int g : group) ++step.begin[g + 1];
    std::partial_sum(step.begin.begin(), step.begin.end(), step.begin.begin());
    step.totals.assign(step.groups.size(), Count(0));
    step.state.resize(all.keys.size());
    step.before.resize(all.keys.size());
    std::vector<int> at(step.begin.begin(), step.begin.end() - 1);
    for (size_t i = 0; i < all.keys.size(); ++i) {
      const int row = at[group[i]]++;
      step.state[row] = static_cast<int>(all.keys[i] & Mask(node));
      step.before[row] = step.totals[group[i]];
      step.totals[group[i]] = Plus(step.totals[group[i]], all.weights[i]);
    }
    for (int t : tables) {
      tables_[t].used = true;
      if (tables_[t].step >= 0) step.children.push_back(tables_[t].step);
    }
    eliminated_[node] = true;
    out_.steps_.push_back(std::move(step));
    const Step& kept = out_.steps_.back();
    const int number = static_cast<int>(out_.steps_.size()) - 1;
    if (kept.key.empty())
      out_.roots_.push_back(number);
    else
      AddTable({.fields = kept.key, .keys = &kept.groups.keys(), .weights = &kept.totals, .step = number});
  }

  const Network& network_;
  size_t max_rows_;
  Elimination& out_;
  std::vector<Table> tables_;
  std::vector<std::vector<int>> tables_of_;  // by node
  std::vector<std::unique_ptr<std::vector<uint64_t>>> own_keys_;
  std::vector<std::unique_ptr<std::vector<Count>>> own_weights_;
  std::vector<bool> eliminated_;
};

template <typename Count>
Elimination<Count>::Elimination(const Network& network, size_t max_rows, int last)
    : cells_(network.cells), sizes_(network.sizes) {
  Run(network, max_rows, this).All(last);
}

template <typename Count>
std::vector<typename Elimination<Count>::LastRow> Elimination<Count>::LastRows() const {
  TRITOGEN_CHECK(roots_.size() == 1);
  const Step& step = steps_[roots_[0]];
  std::vector<LastRow> rows;
  for (size_t row = 0; row < step.state.size(); ++row) {
    Count weight = row + 1 < step.state.size() ? step.before[row + 1] : step.totals[0];
    rows.push_back({step.state[row], step.before[row], weight - step.before[row]});
  }
  return rows;
}

template <typename Count>
int Elimination<Count>::Group(const Step& step, const std::vector<int>& states) const {
  uint64_t key = 0;
  for (const Field& field : step.key) {
    if (field.shift < 64) key |= static_cast<uint64_t>(states[field.node]) << field.shift;
  }
  const int group = step.groups.Find(key);
  TRITOGEN_CHECK(group >= 0);
  return group;
}

// An index within a group is, from the fastest digit on: the row, then a digit for each value of the cell,
// then one for each table that took part.
template <typename Count>
void Elimination<Count>::Descend(int number, Count index, std::vector<int>* states,
                                 std::vector<int64_t>* values) const {
  const Step& step = steps_[number];
  const int group = Group(step, *states);
  const auto begin = step.before.begin() + step.begin[group],
             end = step.before.begin() + step.begin[group + 1];
  const auto row = std::prev(std::upper_bound(begin, end, index));
  index = index - *row;
  const int state = step.state[row - step.before.begin()];
  (*states)[step.node] = state;
  if (step.node < static_cast<int>(cells_.size())) {
    const Domain::Range& cell = cells_[step.node][state];
    auto [rest, offset] = DivMod(index, Count(static_cast<uint64_t>(cell.high - cell.low + 1)));
    if constexpr (std::is_same_v<Count, Natural>)
      (*values)[step.node] = cell.low + static_cast<int64_t>(offset.Limb(0));
    else
      (*values)[step.node] = cell.low + static_cast<int64_t>(offset);
    index = rest;
  }
  for (size_t i = 0; i < step.children.size(); ++i) {
    const int child = step.children[i];
    if (i + 1 == step.children.size()) {
      Descend(child, index, states, values);
      return;
    }
    auto [rest, digit] = DivMod(index, steps_[child].totals[Group(steps_[child], *states)]);
    Descend(child, digit, states, values);
    index = rest;
  }
}

template <typename Count>
void Elimination<Count>::Unrank(Count index, std::vector<int64_t>* values) const {
  values->resize(cells_.size());
  std::vector<int> states(sizes_.size(), 0);
  for (int root : roots_) {
    auto [rest, digit] = DivMod(index, steps_[root].totals[0]);
    Descend(root, digit, &states, values);
    index = rest;
  }
}

template class Elimination<Wide>;
template class Elimination<Natural>;

}  // namespace tritogen::synth
