#include "program/layout.h"

#include <algorithm>
#include <numeric>

#include "program/literal.h"

namespace tritogen {
namespace {

constexpr double kGapX = 22, kGapY = 46, kMargin = 16, kBendWidth = 10;
constexpr int kSweeps = 6;

class Layers {
 public:
  Layers(const Program& program, const std::vector<double>& widths) : program_(program) {
    for (size_t i = 0; i < program.nodes.size(); ++i) {
      layout_.boxes.push_back({.width = widths[i], .node = static_cast<NodeId>(i)});
    }
  }

  GraphLayout Run() {
    AssignLayers();
    LinkLayers();
    for (int sweep = 0; sweep < kSweeps; ++sweep) Order(sweep % 2 == 0);
    Place();
    return std::move(layout_);
  }

 private:
  // Operations below everything that they read; leaves directly above their first reader.
  void AssignLayers() {
    const auto& nodes = program_.nodes;
    layer_.assign(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) {
      ForEachRef(nodes[i], [&](NodeRef ref) { layer_[i] = std::max(layer_[i], layer_[ref.id] + 1); });
    }
    std::vector<int> first(nodes.size(), -1);
    for (size_t i = nodes.size(); i-- > 0;) {
      ForEachRef(nodes[i], [&](NodeRef ref) {
        first[ref.id] = first[ref.id] < 0 ? layer_[i] : std::min(first[ref.id], layer_[i]);
      });
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind != NodeKind::kOp && first[i] > 0) layer_[i] = first[i] - 1;
    }
  }

  // An edge that passes layers gets a bend in each.
  void LinkLayers() {
    for (size_t to = 0; to < program_.nodes.size(); ++to) {
      ForEachRef(program_.nodes[to], [&](NodeRef ref) {
        std::vector<int> chain = {ref.id};
        for (int layer = layer_[ref.id] + 1; layer < layer_[to]; ++layer) {
          layout_.boxes.push_back({.width = kBendWidth});
          layer_.push_back(layer);
          chain.push_back(static_cast<int>(layout_.boxes.size()) - 1);
        }
        chain.push_back(static_cast<int>(to));
        layout_.edges.push_back({ref, static_cast<NodeId>(to), {}});
        chains_.push_back(std::move(chain));
      });
    }
    const int count = layer_.empty() ? 0 : *std::max_element(layer_.begin(), layer_.end()) + 1;
    rows_.resize(count);
    for (size_t box = 0; box < layer_.size(); ++box) rows_[layer_[box]].push_back(static_cast<int>(box));
    above_.resize(layer_.size());
    below_.resize(layer_.size());
    for (const auto& chain : chains_) {
      for (size_t i = 0; i + 1 < chain.size(); ++i) {
        below_[chain[i]].push_back(chain[i + 1]);
        above_[chain[i + 1]].push_back(chain[i]);
      }
    }
    for (auto& row : rows_) Spread(row);
  }

  // Boxes of a row side by side, the row about zero.
  void Spread(const std::vector<int>& row) {
    double total = -kGapX;
    for (int box : row) total += layout_.boxes[box].width + kGapX;
    double x = -total / 2;
    for (int box : row) {
      layout_.boxes[box].x = x + layout_.boxes[box].width / 2;
      x += layout_.boxes[box].width + kGapX;
    }
  }

  double Barycentre(int box, bool down) const {
    const auto& neighbours = down ? above_[box] : below_[box];
    if (neighbours.empty()) return layout_.boxes[box].x;
    double sum = 0;
    for (int other : neighbours) sum += layout_.boxes[other].x;
    return sum / static_cast<double>(neighbours.size());
  }

  void Order(bool down) {
    for (size_t step = 0; step < rows_.size(); ++step) {
      auto& row = rows_[down ? step : rows_.size() - 1 - step];
      std::vector<std::pair<double, int>> wished;
      for (int box : row) wished.emplace_back(Barycentre(box, down), box);
      std::stable_sort(wished.begin(), wished.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < row.size(); ++i) row[i] = wished[i].second;
      Settle(row, wished);
    }
  }

  // Every box where it wishes to be, pushed to the right where it would touch the one before; then the row
  // moves back by the mean of what it was pushed.
  void Settle(const std::vector<int>& row, const std::vector<std::pair<double, int>>& wished) {
    double edge = -1e18, pushed = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      auto& box = layout_.boxes[row[i]];
      box.x = std::max(wished[i].first, edge + box.width / 2);
      pushed += box.x - wished[i].first;
      edge = box.x + box.width / 2 + kGapX;
    }
    for (int box : row) layout_.boxes[box].x -= pushed / static_cast<double>(row.size());
  }

  void Place() {
    double left = 0, right = 0;
    for (const auto& box : layout_.boxes) {
      left = std::min(left, box.x - box.width / 2);
      right = std::max(right, box.x + box.width / 2);
    }
    for (size_t i = 0; i < layout_.boxes.size(); ++i) {
      layout_.boxes[i].x += kMargin - left;
      layout_.boxes[i].y = kMargin + layer_[i] * (GraphLayout::kBoxHeight + kGapY);
    }
    layout_.width = right - left + 2 * kMargin;
    layout_.height =
        static_cast<double>(rows_.size()) * (GraphLayout::kBoxHeight + kGapY) - kGapY + 2 * kMargin;
    for (size_t e = 0; e < chains_.size(); ++e) {
      auto& path = layout_.edges[e].path;
      for (size_t i = 0; i < chains_[e].size(); ++i) {
        const auto& box = layout_.boxes[chains_[e][i]];
        if (i > 0) path.push_back({box.x, box.y});
        if (i + 1 < chains_[e].size()) path.push_back({box.x, box.y + GraphLayout::kBoxHeight});
      }
    }
  }

  const Program& program_;
  GraphLayout layout_;
  std::vector<int> layer_;                // by box
  std::vector<std::vector<int>> chains_;  // boxes along each edge
  std::vector<std::vector<int>> rows_, above_, below_;
};

}  // namespace

GraphLayout LayOut(const Program& program, const std::vector<double>& widths) {
  return Layers(program, widths).Run();
}

}  // namespace tritogen
