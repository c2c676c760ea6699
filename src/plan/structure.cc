#include "plan/structure.h"

namespace tritogen {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  StructurePart Read() {
    StructurePart part{.opening = text_[at_++]};
    part.number = part.is_leaf() ? leaves_++ : containers_++;
    if (part.is_leaf()) return part;
    while (text_[at_] != part.closing()) {
      if (part.opening == '{') part.keys.push_back(Key());
      part.parts.push_back(Read());
      at_ += text_[at_] == ',';
    }
    ++at_;
    return part;
  }

 private:
  // With its quotes; behind its colon is where it ends.
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

}  // namespace

StructurePart ReadStructure(std::string_view text) {
  return Reader(text).Read();
}

}  // namespace tritogen
