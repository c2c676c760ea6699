#include "emit/returns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/structure.h"

namespace tritogen {
namespace {

class Packer {
 public:
  Packer(const Plan& plan, const std::vector<std::string>& leaves) : plan_(plan), leaves_(leaves) {}

  std::string Item(const StructurePart& part) const {
    if (part.is_leaf()) return leaves_[part.number];
    std::vector<std::string> items;
    for (const StructurePart& inner : part.parts) items.push_back(Item(inner));
    const auto packed = std::ranges::find(plan_.packed, part.number, &PackedAs::container);
    return packed == plan_.packed.end() ? Plain(part, items) : Typed(*packed, Plain(part, items), items);
  }

 private:
  static std::string Plain(const StructurePart& part, std::vector<std::string> items) {
    for (size_t i = 0; i < part.keys.size(); ++i) items[i] = fmt::format("{}: {}", part.keys[i], items[i]);
    return fmt::format("{}{}{}{}", part.opening, fmt::join(items, ", "), part.is_single() ? "," : "",
                       part.closing());
  }

  static std::string Typed(const PackedAs& packed, const std::string& plain, std::vector<std::string> items) {
    const bool torchs = packed.type.starts_with("torch.return_types.");
    if (torchs || packed.fields.size() != items.size() || items.empty())
      return fmt::format("{}({})", packed.type, plain);
    for (size_t i = 0; i < items.size(); ++i) items[i] = fmt::format("{}={}", packed.fields[i], items[i]);
    return fmt::format("{}({})", packed.type, fmt::join(items, ", "));
  }

  const Plan& plan_;
  const std::vector<std::string>& leaves_;
};

}  // namespace

std::string ReturnedText(const Plan& plan, const std::vector<std::string>& leaves) {
  return Packer(plan, leaves).Item(ReadStructure(plan.structure));
}

std::vector<PackedAs> RenamedTypes(std::vector<PackedAs> packed, const std::string& entry,
                                   const std::string& original) {
  for (PackedAs& one : packed) {
    if (one.type.starts_with(entry + ".")) one.type = original + one.type.substr(entry.size());
  }
  return packed;
}

}  // namespace tritogen
