#include "teach/diagonal_products.h"

#include <algorithm>

#include "teach/graph.h"

namespace tritogen::teach {
namespace {

class Diagonals {
 public:
  explicit Diagonals(ProgramEdit& edit) : edit_(edit) {}

  bool Replace() {
    ProgramEdit::Places places;
    for (NodeId id = 0, end = static_cast<NodeId>(edit_.program().nodes.size()); id < end; ++id) {
      if (const auto scaled = Scaled(id)) places.emplace_back(NodeRef{id, 0}, *scaled);
    }
    edit_.Replace(places);
    return !places.empty();
  }

 private:
  const std::vector<int64_t>& Sizes(NodeRef ref) const { return edit_.ShapeOf(ref).sizes; }

  // What a product with a diagonal matrix is; nothing for other operations.
  std::optional<NodeRef> Scaled(NodeId id) {
    const OpCall* call = edit_.CallOf(id);
    if (call == nullptr) return std::nullopt;
    const std::string& name = call->row->name;
    if (name != "mm" && name != "bmm" && name != "matmul") return std::nullopt;
    const NodeRef *left = AsRef(call->args["self"]),
                  *right = AsRef(call->args[name == "matmul" ? "other" : "mat2"]);
    if (left == nullptr || right == nullptr || Sizes(*left).size() < 2 || Sizes(*right).size() < 2)
      return std::nullopt;
    const Shape result = edit_.ShapeOf({id, 0});
    const NodeRef a = *left, b = *right;
    if (const auto d = DiagonalOf(a)) return Times(b, *d, /*rows=*/true, result);
    if (const auto d = DiagonalOf(b)) return Times(a, *d, /*rows=*/false, result);
    return std::nullopt;
  }

  // A diagonal as a column (rows) or as a row, times a matrix.
  std::optional<NodeRef> Times(NodeRef matrix, NodeRef row, bool rows, const Shape& result) {
    if (edit_.ShapeOf(matrix).dtype != result.dtype || edit_.ShapeOf(row).dtype != result.dtype)
      return std::nullopt;
    std::vector<int64_t> sizes = Sizes(row);
    const size_t last = sizes.size() - 1;
    std::swap(sizes[last], sizes[last - 1]);
    if (BroadcastSizes({rows ? sizes : Sizes(row), Sizes(matrix)}) != result.sizes) return std::nullopt;
    if (rows)
      row = edit_.Add("aten::transpose.int", {Arg{row}, Arg{int64_t{-2}}, Arg{int64_t{-1}}},
                      {result.dtype, sizes});
    return edit_.Add("aten::mul.Tensor", {Arg{matrix}, Arg{row}}, result);
  }

  // Of where(row == column, d, 0), as diag and diag_embed are taken apart: d as (…, 1, n).
  std::optional<NodeRef> DiagonalOf(NodeRef matrix) {
    const std::vector<int64_t> sizes = Sizes(matrix);
    const int64_t n = sizes.back();
    const OpCall* where = edit_.CallOf(matrix.id, "where");
    if (where == nullptr || sizes[sizes.size() - 2] != n || n == 1) return std::nullopt;
    const NodeRef *condition = AsRef(where->args["condition"]), *kept = AsRef(where->args["self"]);
    if (condition == nullptr || kept == nullptr || !IsZero(where->args["other"]) || !IsUnit(*condition, n))
      return std::nullopt;
    NodeRef diagonal = *kept;
    std::vector<int64_t> of = Sizes(diagonal);
    if (of.size() < 2 || of.back() * of[of.size() - 2] != n) return std::nullopt;  // not both n, nor 1
    if (of.back() != n) {
      std::swap(of[of.size() - 1], of[of.size() - 2]);
      diagonal = edit_.Add("aten::transpose.int", {Arg{diagonal}, Arg{int64_t{-2}}, Arg{int64_t{-1}}},
                           {edit_.ShapeOf(*kept).dtype, of});
    }
    return diagonal;
  }

  bool IsZero(const Arg& arg) const {
    if (const auto number = AsNumber(arg)) return *number == 0;
    const NodeRef* ref = AsRef(arg);
    const OpCall* call = ref == nullptr ? nullptr : edit_.CallOf(ref->id);
    if (call == nullptr) return false;
    const std::string& name = call->row->name;
    if (name == "zeros" || name == "zeros_like") return true;
    if (name == "full" || name == "full_like") return AsNumber(call->args["fill_value"]) == 0.0;
    return name == "scalar_tensor" && AsNumber(call->args["s"]) == 0.0;
  }

  // Behind views that only add or drop dimensions of one element.
  NodeRef Bare(NodeRef ref) const {
    while (const OpCall* call = edit_.CallOf(ref.id)) {
      const std::string& name = call->row->name;
      if (name != "unsqueeze" && name != "view" && name != "reshape" && name != "squeeze") break;
      const NodeRef* self = AsRef(call->args["self"]);
      if (self == nullptr || Long(Sizes(*self)) != Long(Sizes(ref))) break;
      ref = *self;
    }
    return ref;
  }
  static std::vector<int64_t> Long(std::vector<int64_t> sizes) {
    std::erase(sizes, 1);
    return sizes;
  }

  // Whether it holds just where the indices along the last two dimensions are equal.
  bool IsUnit(NodeRef condition, int64_t n) const {
    const auto& shape = Sizes(condition);
    if (Long(shape) != std::vector<int64_t>{n, n} || shape.back() != n) return false;
    const OpCall* equal = edit_.CallOf(Bare(condition).id, "eq");
    if (equal == nullptr) return false;
    const NodeRef *a = AsRef(equal->args["self"]), *b = AsRef(equal->args["other"]);
    if (a == nullptr || b == nullptr) return false;
    const auto first = Start(*a, n), second = Start(*b, n);
    return first && second && *first == *second && (Sizes(*a).back() == n) != (Sizes(*b).back() == n);
  }

  // Of the numbers start, start + 1, … along one dimension.
  std::optional<double> Start(NodeRef ref, int64_t n) const {
    if (Long(Sizes(ref)) != std::vector<int64_t>{n}) return std::nullopt;
    const OpCall* range = edit_.CallOf(Bare(ref).id, "arange");
    if (range == nullptr || AsNumber(range->args["step"]).value_or(1) != 1) return std::nullopt;
    return AsNumber(range->args["start"]).value_or(0);
  }

  ProgramEdit& edit_;
};

}  // namespace

bool MultiplyByDiagonals(ProgramEdit& edit) {
  return Diagonals(edit).Replace();
}

}  // namespace tritogen::teach
