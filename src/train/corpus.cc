#include "train/corpus.h"

#include "base/error.h"
#include "base/sha256.h"

namespace tritogen::train {
namespace {

template <typename T>
std::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

void Corpus::Add(const Example& example) {
  const auto size = static_cast<int32_t>(example.tokens.size());
  TRITOGEN_CHECK(0 < example.plan && example.plan <= example.code && example.code <= size);
  spans_.push_back({tokens(), size, example.plan, example.code});
  tokens_.insert(tokens_.end(), example.tokens.begin(), example.tokens.end());
  answer_tokens_ += size - example.plan;
}

Corpus::View Corpus::at(int64_t index) const {
  TRITOGEN_CHECK(0 <= index && index < size());
  const Span& span = spans_[index];
  return {std::span(tokens_).subspan(span.begin, span.size), span.plan, span.code};
}

std::string Corpus::sha256() const {
  std::vector<int32_t> shapes;
  for (const Span& span : spans_) shapes.insert(shapes.end(), {span.size, span.plan, span.code});
  Sha256 hash;
  hash.Update(BytesOf(shapes));
  hash.Update(BytesOf(tokens_));
  std::string hex;
  for (const uint8_t byte : hash.Digest()) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace tritogen::train
