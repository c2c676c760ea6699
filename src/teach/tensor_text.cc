#include "teach/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace tritogen::teach {
namespace {

// Permutation of the dimensions that turns row-major order into these strides, if it is one.
std::optional<std::vector<int64_t>> AsPermutation(const View& view, const std::vector<int64_t>& sizes) {
  if (view.offset != 0 || view.sizes.size() != sizes.size() || !view.guards.empty()) return std::nullopt;
  std::vector<int64_t> strides = ContiguousStrides(sizes), dims;
  for (int i = 0; i < view.rank(); ++i) {
    int64_t found = -1;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      bool taken = std::find(dims.begin(), dims.end(), d) != dims.end();
      if (!taken && sizes[d] == view.sizes[i] && (strides[d] == view.strides[i] || sizes[d] == 1)) found = d;
      if (found == d) break;
    }
    if (found < 0) return std::nullopt;
    dims.push_back(found);
  }
  return dims;
}

// All elements of the tensor, reshaped or permuted.
std::optional<std::string> WholeText(const std::string& base, const std::vector<int64_t>& sizes,
                                     const View& view) {
  if (view.IsContiguous() && view.numel() == Product(sizes))
    return view.sizes == sizes ? base : fmt::format("{}.view({})", base, TupleText(view.sizes));
  if (auto dims = AsPermutation(view, sizes))
    return fmt::format("{}.permute({})", base, fmt::join(*dims, ", "));
  return std::nullopt;
}

// One index or one range along each dimension: "x[:, 2:5, 0]".
std::optional<std::string> IndexedText(const std::string& base, const std::vector<int64_t>& sizes,
                                       const View& view) {
  if (!view.guards.empty() || view.offset < 0 || view.offset >= Product(sizes)) return std::nullopt;
  const std::vector<int64_t> strides = ContiguousStrides(sizes);
  std::vector<std::string> parts;
  int64_t left = view.offset;
  int dim = 0;  // of the view
  size_t needed = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t first = left / strides[d];
    left %= strides[d];
    const bool range = dim < view.rank() && first + view.sizes[dim] <= sizes[d] &&
                       (view.sizes[dim] == 1 ? sizes.size() - d == static_cast<size_t>(view.rank() - dim)
                                             : view.strides[dim] == strides[d]);
    if (!range) {
      parts.push_back(fmt::format("{}", first));
    } else {
      const int64_t past = first + view.sizes[dim++];
      parts.push_back(first == 0 && past == sizes[d] ? ":" : fmt::format("{}:{}", first, past));
    }
    if (parts.back() != ":") needed = d + 1;
  }
  if (dim != view.rank() || needed == 0) return std::nullopt;
  parts.resize(needed);
  return fmt::format("{}[{}]", base, fmt::join(parts, ", "));
}

}  // namespace

std::string TupleText(const std::vector<int64_t>& sizes) {
  return sizes.size() == 1 ? fmt::format("({},)", sizes[0]) : fmt::format("({})", fmt::join(sizes, ", "));
}

std::string TensorText(const std::string& base, const std::vector<int64_t>& sizes, const View& view) {
  if (auto text = WholeText(base, sizes, view)) return *text;
  // Some of the first dimension's elements, all of each.
  const int64_t inner = sizes.empty() || sizes[0] == 0 ? 0 : Product(sizes) / sizes[0];
  if (inner > 0 && view.offset % inner == 0 && view.numel() % inner == 0 && view.guards.empty()) {
    const int64_t first = view.offset / inner, past = first + view.numel() / inner;
    View part = view;
    part.offset = 0;
    std::vector<int64_t> kept = sizes;
    kept[0] = past - first;
    if (auto text = WholeText(fmt::format("{}[{}:{}]", base, first, past), kept, part)) return *text;
  }
  if (auto text = IndexedText(base, sizes, view)) return *text;
  return fmt::format("{}.as_strided({}, {}, {})", base, TupleText(view.sizes), TupleText(view.strides),
                     view.offset);
}

std::string StateText(const Node& node) {
  bool attributes = true, start = true;
  for (char c : node.name) {
    attributes &= !(start && std::isdigit(static_cast<unsigned char>(c)));
    start = c == '.';
  }
  if (attributes) return "self." + node.name;
  return fmt::format("self.get_{}(\"{}\")", node.kind == NodeKind::kBuffer ? "buffer" : "parameter",
                     node.name);
}

}  // namespace tritogen::teach
