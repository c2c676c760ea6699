#include "propose/sizes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <vector>

#include "base/splitmix.h"
#include "base/text.h"
#include "program/infer.h"
#include "program/literal.h"

namespace tritogen {
namespace {

constexpr int kTries = 64;
// New sizes: odd, and none that a kernel's tiles, windows or constants are likely to be.
constexpr int64_t kLeast = 33, kMost = 125;

bool IsUnlikely(int64_t number) {
  return number > 10 && (number % 4 != 0 || (number > 2048 && number % 1024 != 0));
}

class Resizer {
 public:
  Resizer(const Program& program, int64_t largest) : program_(program), largest_(largest) {
    for (const Node& node : program.nodes) {
      for (const Shape& shape : node.results) present_.insert(shape.sizes.begin(), shape.sizes.end());
      for (const Arg& arg : node.args) Note(arg);
      for (const auto& [name, arg] : node.kwargs) Note(arg);
    }
  }

  std::optional<Resized> Try(SplitMix* random) {
    to_.clear();
    used_.clear();
    Resized resized{.program = program_};
    std::vector<Node>& nodes = resized.program.nodes;
    std::vector<bool> sized(nodes.size(), false);
    for (size_t id = 0; id < nodes.size(); ++id) {
      Node& node = nodes[id];
      if (node.kind != NodeKind::kOp) continue;
      // Leaves get their sizes where they are read first: one that is a product of others is known by then.
      ForEachRef(node, [&](NodeRef ref) {
        Node& leaf = nodes[ref.id];
        if (leaf.kind != NodeKind::kOp && !sized[ref.id]) {
          sized[ref.id] = true;
          for (int64_t& size : leaf.results[0].sizes) size = SizeFor(size, random);
        }
      });
      if (!Flatten(program_.nodes[id], resized.program)) return std::nullopt;
      for (Arg& arg : node.args) Replace(&arg);
      for (auto& [name, arg] : node.kwargs) Replace(&arg);
      if (!Infer(resized.program, id)) return std::nullopt;
    }
    for (const auto& [from, to] : to_) resized.back[to] = from;
    return resized;
  }

 private:
  void Note(const Arg& arg) {
    if (const auto number = AsInt(arg)) present_.insert(*number);
    if (const Arg::List* list = AsList(arg)) {
      for (const Arg& item : *list) Note(item);
    }
  }

  void Replace(Arg* arg) const {
    if (const auto number = AsInt(*arg)) {
      if (const auto to = to_.find(*number); to != to_.end()) *arg = Arg{to->second};
    }
    if (auto* list = std::get_if<Arg::List>(&arg->v)) {
      for (Arg& item : *list) Replace(&item);
    }
  }

  // A random size for one that has none yet; small ones stay, and one for which no number is free.
  int64_t SizeFor(int64_t size, SplitMix* random) {
    if (const auto to = to_.find(size); to != to_.end()) return to->second;
    if (size <= largest_) return size;
    for (int i = 0; i < kTries; ++i) {
      const auto drawn = kLeast + 2 * static_cast<int64_t>(random->Below((kMost - kLeast) / 2 + 1));
      if (Give(size, drawn)) return drawn;
    }
    return size;
  }

  // False where the number says something else already.
  bool Give(int64_t size, int64_t to) {
    if (const auto known = to_.find(size); known != to_.end()) return known->second == to;
    if (!IsUnlikely(to) || present_.contains(to) || used_.contains(to)) return false;
    to_[size] = to;
    used_.insert(to);
    return true;
  }

  // New lengths of a reshape that are products of neighbouring old ones.
  bool Flatten(const Node& node, const Program& resized) {
    if (node.op != "aten::reshape") return true;
    const NodeRef* self = node.args.empty() ? nullptr : AsRef(node.args[0]);
    if (self == nullptr) return true;
    const auto& from = program_.nodes[self->id].results[self->result].sizes;
    const auto& to = resized.nodes[self->id].results[self->result].sizes;
    for (const int64_t length : node.results[0].sizes) {
      if (length <= largest_ || to_.contains(length)) continue;
      for (size_t begin = 0; begin < from.size(); ++begin) {
        int64_t old_product = 1, product = 1;
        for (size_t end = begin; end < from.size() && old_product < length; ++end) {
          old_product *= from[end];
          product *= to[end];
          if (old_product == length && end > begin && product != old_product && !Give(length, product))
            return false;
        }
      }
    }
    return true;
  }

  // Gives the node the sizes that its operands make. False where they make none, or a size does not follow
  // the others of its kind.
  bool Infer(Program& program, size_t id) {
    Node& node = program.nodes[id];
    const auto call = BindCall(node);
    if (!call) return false;
    Inferred inferred = InferResults(*call, LookupIn(program));
    const auto& before = program_.nodes[id].results;
    if (!inferred.problem.empty() || inferred.results.size() < before.size()) return false;
    for (size_t r = 0; r < before.size(); ++r) {
      const auto &from = before[r].sizes, &to = inferred.results[r].sizes;
      if (from.size() != to.size()) return false;
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i] == to[i] ? to_.contains(from[i]) : !Give(from[i], to[i])) return false;
      }
      node.results[r].sizes = to;
    }
    return true;
  }

  const Program& program_;
  const int64_t largest_;
  std::set<int64_t> present_;      // numbers of the program
  std::map<int64_t, int64_t> to_;  // from its sizes to new ones
  std::set<int64_t> used_;
};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool HasSizeAbove(const Program& program, int64_t largest) {
  return std::ranges::any_of(program.nodes, [&](const Node& node) {
    return std::ranges::any_of(node.results, [&](const Shape& shape) {
      return std::ranges::any_of(shape.sizes, [&](int64_t size) { return size > largest; });
    });
  });
}

std::optional<Resized> WithSmallSizes(const Program& program, int64_t largest, uint64_t seed) {
  if (!HasSizeAbove(program, largest)) return std::nullopt;
  Resizer resizer(program, largest);
  SplitMix random(seed);
  for (int i = 0; i < kTries; ++i) {
    if (auto resized = resizer.Try(&random)) return resized;
  }
  return std::nullopt;
}

std::string TakenBack(std::string_view text, const std::map<int64_t, int64_t>& back) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (!IsDigit(text[i])) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsDigit(text[end])) ++end;
    std::string_view digits = text.substr(i, end - i);
    const bool in_word = i > 0 && (IsWordByte(text[i - 1]) || text[i - 1] == '.');
    // "37.0" is 37, "37.5" and "37e3" are not; "37." may end a sentence.
    size_t zeros = end;
    if (text.substr(end, 2) == ".0") zeros = std::min(text.find_first_not_of('0', end + 1), text.size());
    const bool fraction = zeros == end && end + 1 < text.size() && text[end] == '.' && IsDigit(text[end + 1]);
    const bool goes_on = fraction || (zeros < text.size() && IsWordByte(text[zeros]));
    int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);  // 0 where it is too large
    const bool fits = std::to_string(number) == digits;  // "037" is no whole number of Python
    const auto found = fits && !in_word && !goes_on ? back.find(number) : back.end();
    out += found == back.end() ? std::string(digits) : std::to_string(found->second);
    i = end;
  }
  return out;
}

}  // namespace tritogen
