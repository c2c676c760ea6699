#include "emit/returns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tritogen {
namespace {

class Packer {
 public:
  Packer(const Plan& plan, const std::vector<std::string>& leaves) : plan_(plan), leaves_(leaves) {}

  std::string Item() {
    const std::string& text = plan_.structure;
    const char opening = text[at_++];
    if (opening == '*') return leaves_[next_++];
    const auto packed = std::ranges::find(plan_.packed, containers_++, &PackedAs::container);
    const char close = opening == '(' ? ')' : opening == '[' ? ']' : '}';
    std::vector<std::string> keys, items;
    while (text[at_] != close) {
      if (opening == '{') keys.push_back(Key());
      items.push_back(Item());
      at_ += text[at_] == ',';
    }
    ++at_;
    return packed == plan_.packed.end() ? Plain(opening, close, keys, items)
                                        : Typed(*packed, Plain(opening, close, keys, items), items);
  }

 private:
  // With its quotes; behind its colon is where it ends.
  std::string Key() {
    const std::string& text = plan_.structure;
    const size_t first = at_;
    if (text[at_] == '"') {
      for (++at_; text[at_] != '"'; ++at_) at_ += text[at_] == '\\';
    }
    at_ = text.find(':', at_);
    return text.substr(first, at_++ - first);
  }

  static std::string Plain(char opening, char close, const std::vector<std::string>& keys,
                           std::vector<std::string> items) {
    const bool single = opening == '(' && items.size() == 1;
    for (size_t i = 0; i < keys.size(); ++i) items[i] = fmt::format("{}: {}", keys[i], items[i]);
    return fmt::format("{}{}{}{}", opening, fmt::join(items, ", "), single ? "," : "", close);
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
  size_t at_ = 0, next_ = 0;
  int containers_ = 0;
};

}  // namespace

std::string ReturnedText(const Plan& plan, const std::vector<std::string>& leaves) {
  return Packer(plan, leaves).Item();
}

std::vector<PackedAs> RenamedTypes(std::vector<PackedAs> packed, const std::string& entry,
                                   const std::string& original) {
  for (PackedAs& one : packed) {
    if (one.type.starts_with(entry + ".")) one.type = original + one.type.substr(entry.size());
  }
  return packed;
}

}  // namespace tritogen
