#include "program/products.h"

#include <algorithm>

namespace tritogen {

std::vector<ShapeProducts> ProductsOf(const Program& program) {
  std::vector<ShapeProducts> all;
  for (const Node& node : program.nodes) {
    for (const Shape& shape : node.results) {
      const std::vector<int64_t>& sizes = shape.sizes;
      const auto same = [&](const ShapeProducts& other) { return other.sizes == sizes; };
      if (sizes.size() < 2 || std::any_of(all.begin(), all.end(), same)) continue;
      ShapeProducts products{sizes, {}, {}};
      uint64_t product = static_cast<uint64_t>(sizes.back());
      for (size_t i = sizes.size() - 1; i-- > 0;)
        products.last.insert(products.last.begin(), product *= static_cast<uint64_t>(sizes[i]));
      product = static_cast<uint64_t>(sizes.front());
      for (size_t i = 1; i + 1 < sizes.size(); ++i)
        products.first.push_back(product *= static_cast<uint64_t>(sizes[i]));
      all.push_back(std::move(products));
    }
  }
  return all;
}

std::set<int64_t> KnownNumbers(const Program& program) {
  std::set<int64_t> known;
  for (const Node& node : program.nodes) {
    for (const Shape& shape : node.results) known.insert(shape.sizes.begin(), shape.sizes.end());
  }
  for (const ShapeProducts& products : ProductsOf(program)) {
    for (uint64_t number : products.last) known.insert(static_cast<int64_t>(number));
    for (uint64_t number : products.first) known.insert(static_cast<int64_t>(number));
  }
  return known;
}

}  // namespace tritogen
