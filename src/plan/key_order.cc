#include "plan/key_order.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tritogen {
namespace {

// A part of `structure`: a leaf, or a container of parts.
struct Part {
  char opening = '*';
  int number = 0;                 // among the leaves, or among the containers
  std::vector<std::string> keys;  // of a dict, as they are spelled
  std::vector<Part> parts;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Part Read() {
    Part part{.opening = text_[at_++]};
    part.number = part.opening == '*' ? leaves_++ : containers_++;
    if (part.opening == '*') return part;
    while (text_[at_] != ')' && text_[at_] != ']' && text_[at_] != '}') {
      if (part.opening == '{') part.keys.push_back(Key());
      part.parts.push_back(Read());
      at_ += text_[at_] == ',';
    }
    ++at_;
    return part;
  }

 private:
  std::string Key() {
    const size_t first = at_;
    if (text_[at_] == '"') {
      for (++at_; text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\';
    }
    at_ = text_.find(':', at_);
    return std::string(text_.substr(first, at_++ - first));
  }

  std::string_view text_;
  size_t at_ = 0;
  int leaves_ = 0, containers_ = 0;
};

void Order(const Part& want, Part* got) {
  if (want.opening != got->opening || want.parts.size() != got->parts.size()) return;
  if (want.keys != got->keys) {
    if (!std::ranges::is_permutation(want.keys, got->keys)) return;
    std::vector<Part> parts;
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

  void Add(const Part& part) {
    text += part.opening;
    (part.opening == '*' ? leaves : containers).push_back(part.number);
    if (part.opening == '*') return;
    for (size_t i = 0; i < part.parts.size(); ++i) {
      if (i > 0) text += ',';
      if (!part.keys.empty()) text += part.keys[i] + ":";
      Add(part.parts[i]);
    }
    if (part.opening == '(' && part.parts.size() == 1) text += ',';
    text += part.opening == '(' ? ')' : part.opening == '[' ? ']' : '}';
  }
};

}  // namespace

void TakeKeyOrder(const Plan& reference, Plan* candidate) {
  if (candidate->structure == reference.structure) return;
  Part parts = Reader(candidate->structure).Read();
  Order(Reader(reference.structure).Read(), &parts);
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
