// Shape rules of reading and writing by index.
#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen::rules {
namespace {

// Outside `dim` an index reaches no further than the tensor.
void RequireInside(ShapeBuilder& b, const Terms& index, const Terms& x, int axis) {
  if (!b.Require(index.size() == x.size(), "an index of another rank")) return;
  for (int i = 0; i < b.Rank("self"); ++i) {
    if (i != axis)
      b.RequireAtMost({{1, index[i]}, {-1, x[i]}}, 0, "the index reaches further than the tensor");
  }
}

}  // namespace

void Gather(ShapeBuilder& b) {
  const Terms &x = b.In("self"), &index = b.In("index");
  RequireInside(b, index, x, b.Axis("dim", b.Rank("self")));
  b.Result(index);
}

void Scatter(ShapeBuilder& b) {
  const Terms &x = b.In("self"), &index = b.In("index");
  RequireInside(b, index, x, b.Axis("dim", b.Rank("self")));
  if (b.Has("src")) RequireInside(b, index, b.In("src"), -1);
  b.Result(x);
}

void IndexSelect(ShapeBuilder& b) {
  Terms x = b.In("self");
  const Terms& index = b.In("index");
  const int axis = b.Axis("dim", b.Rank("self"));
  if (!b.Require(!x.empty() && index.size() == 1, "index_select takes a vector of indices")) return;
  x[axis] = index[0];
  b.Result(std::move(x));
}

// Leading or adjacent indices, as x[i, j] and x[:, i] give them; their common shape takes their place.
void Index(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const Arg::List* indices = AsList(b.args()["indices"]);
  if (!b.Require(indices != nullptr && indices->size() <= x.size(), "more indices than dimensions")) return;
  Terms common, out;
  int first = -1, last = -1;
  for (size_t i = 0; i < indices->size(); ++i) {
    const NodeRef* ref = AsRef((*indices)[i]);
    if (ref == nullptr) continue;
    common = b.BroadcastedShapes(common, b.Tensor(*ref));
    if (!b.Require(first < 0 || last == static_cast<int>(i) - 1, "indices that are not side by side")) return;
    if (first < 0) first = static_cast<int>(i);
    last = static_cast<int>(i);
  }
  if (!b.Require(first >= 0, "no index")) return;
  out.assign(x.begin(), x.begin() + first);
  out.insert(out.end(), common.begin(), common.end());
  out.insert(out.end(), x.begin() + last + 1, x.end());
  b.Result(std::move(out));
}

void Embedding(ShapeBuilder& b) {
  const Terms& weight = b.In("weight");
  Terms out = b.In("indices");
  if (!b.Require(weight.size() == 2, "the table of embedding is a matrix")) return;
  out.push_back(weight[1]);
  b.Result(std::move(out));
}

}  // namespace tritogen::rules
