#include "plan/key_order.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/structure.h"

namespace tritogen {
namespace {

void Order(const StructurePart& want, StructurePart* got) {
  if (want.opening != got->opening || want.parts.size() != got->parts.size()) return;
  if (want.keys != got->keys) {
    if (!std::ranges::is_permutation(want.keys, got->keys)) return;
    std::vector<StructurePart> parts;
    for (const std::string& key : want.keys)
      parts.push_back(std::move(got->parts[std::ranges::find(got->keys, key) - got->keys.begin()]));
    got->keys = want.keys;
    got->parts = std::move(parts);
  }
  for (size_t i = 0; i < want.parts.size(); ++i) Order(want.parts[i], &got->parts[i]);
}

// What of the parts comes where: numbers of leaves and containers in their new order, and the text.
struct Written {
  std::string text;
  std::vector<int> leaves, containers;

  void Add(const StructurePart& part) {
    text += part.opening;
    (part.is_leaf() ? leaves : containers).push_back(part.number);
    if (part.is_leaf()) return;
    for (size_t i = 0; i < part.parts.size(); ++i) {
      if (i > 0) text += ',';
      if (!part.keys.empty()) text += part.keys[i] + ":";
      Add(part.parts[i]);
    }
    if (part.is_single()) text += ',';
    text += part.closing();
  }
};

}  // namespace

void TakeKeyOrder(const Plan& reference, Plan* candidate) {
  if (candidate->structure == reference.structure) return;
  StructurePart parts = ReadStructure(candidate->structure);
  Order(ReadStructure(reference.structure), &parts);
  Written written;
  written.Add(parts);
  std::vector<Value> outputs;
  for (const int leaf : written.leaves) outputs.push_back(candidate->outputs[leaf]);
  for (PackedAs& packed : candidate->packed) {
    const auto place = std::ranges::find(written.containers, packed.container);
    packed.container = static_cast<int>(place - written.containers.begin());
  }
  std::ranges::sort(candidate->packed, {}, &PackedAs::container);
  candidate->outputs = std::move(outputs);
  candidate->structure = std::move(written.text);
}

}  // namespace tritogen
