// A data set as a trainer reads it: conversations in tokens, all in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tritogen::train {

// One conversation. Loss is on its last answer only: first the plan, then the code.
struct Example {
  std::vector<int32_t> tokens;  // ends with the token that ends an answer
  int32_t plan = 0;             // the answer's first token
  int32_t code = 0;             // the first token of the answer's code; tokens.size() where there is none
};

class Corpus {
 public:
  // REQUIRES: 0 < plan <= code <= tokens.size().
  void Add(const Example& example);

  int64_t size() const { return static_cast<int64_t>(spans_.size()); }
  int64_t tokens() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t answer_tokens() const { return answer_tokens_; }

  struct View {
    std::span<const int32_t> tokens;
    int32_t plan = 0, code = 0;
  };
  View at(int64_t index) const;
  // Equal exactly for equal examples in equal order: what a checkpoint remembers of its data.
  std::string sha256() const;

 private:
  struct Span {
    int64_t begin = 0;
    int32_t size = 0, plan = 0, code = 0;
  };
  std::vector<int32_t> tokens_;
  std::vector<Span> spans_;
  int64_t answer_tokens_ = 0;
};

}  // namespace tritogen::train
