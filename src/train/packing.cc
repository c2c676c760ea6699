#include "train/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/rounding.h"
#include "base/splitmix.h"

namespace tritogen::train {
namespace {

// Examples that may come before their turn, to fill what is left of a batch. 64 of 300 to 1500 tokens leave
// less than 1% of 65,536 tokens empty.
constexpr size_t kWindow = 64;

std::vector<int64_t> Shuffled(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  SplitMix random(seed);
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<int64_t>(random.Below(static_cast<uint64_t>(i) + 1))]);
  return order;
}

class Writer {
 public:
  explicit Writer(const PackingOptions& options) : options_(options) {
    batch_.tokens.reserve(options.tokens);
    batch_.targets.reserve(options.tokens);
    batch_.weights.reserve(options.tokens);
    batch_.positions.reserve(options.tokens);
    batch_.starts.reserve(options.most_documents + 1);
  }

  void Add(const Corpus::View& example) {
    Begin();
    const auto size = static_cast<int32_t>(example.tokens.size());
    for (int32_t i = 0; i < size; ++i) {
      const int32_t next = i + 1;
      double weight = 0;
      if (next >= example.plan && next < size)
        weight = next < example.code ? options_.plan_weight : options_.code_weight;
      Push(example.tokens[i], weight != 0 ? example.tokens[next] : -1, weight, i);
    }
  }

  PackedBatch Finish() {
    while (size() < options_.tokens) {
      Begin();
      const int64_t length = std::min(options_.longest, options_.tokens - size());
      for (int64_t i = 0; i < length; ++i) Push(0, -1, 0, static_cast<int32_t>(i));
    }
    TRITOGEN_CHECK(size() == options_.tokens &&
                   static_cast<int64_t>(batch_.starts.size()) <= options_.most_documents);
    batch_.starts.resize(options_.most_documents + 1, static_cast<int32_t>(options_.tokens));
    return std::move(batch_);
  }

 private:
  int64_t size() const { return static_cast<int64_t>(batch_.tokens.size()); }
  void Begin() { batch_.starts.push_back(static_cast<int32_t>(size())); }
  void Push(int32_t token, int32_t target, double weight, int32_t position) {
    batch_.tokens.push_back(token);
    batch_.targets.push_back(target);
    batch_.weights.push_back(static_cast<float>(weight));
    batch_.positions.push_back(position);
  }

  const PackingOptions& options_;
  PackedBatch batch_;
};

}  // namespace

Packer::Packer(const Corpus& corpus, const PackingOptions& options) : corpus_(corpus), options_(options) {
  TRITOGEN_CHECK(0 < options_.longest && options_.longest <= options_.tokens);
  const int64_t least = 1 + CeilDiv(options_.tokens, options_.longest);  // one example, the rest padding
  if (options_.most_documents == 0) options_.most_documents = std::max(least, options_.tokens / 16);
  if (options_.most_documents < least) {
    throw UserError(
        fmt::format("a batch of {} tokens with documents of at most {} tokens needs most_documents of at "
                    "least {}, not {}",
                    options_.tokens, options_.longest, least, options_.most_documents));
  }
  for (int64_t i = 0; i < corpus_.size(); ++i)
    TRITOGEN_CHECK(static_cast<int64_t>(corpus_.at(i).tokens.size()) <= options_.longest);
}

// Into each batch goes the first example of the window that fits, until none does. A batch begins with the
// window's first, so that none waits for ever.
void Packer::BeginEpoch(int64_t epoch) {
  batches_.clear();
  const std::vector<int64_t> order =
      Shuffled(corpus_.size(), SplitMix::At(options_.seed, static_cast<uint64_t>(epoch)));
  std::vector<int64_t> window;
  int64_t left = 0;  // tokens of the last batch
  size_t next = 0;
  const auto fits = [&](int64_t example) {
    const auto size = static_cast<int64_t>(corpus_.at(example).tokens.size());
    const int64_t padding = CeilDiv(left - size, options_.longest);  // documents
    return size <= left &&
           static_cast<int64_t>(batches_.back().size()) + 1 + padding <= options_.most_documents;
  };
  while (true) {
    while (window.size() < kWindow && next < order.size()) window.push_back(order[next++]);
    if (window.empty()) return;
    auto chosen = batches_.empty() ? window.end() : std::find_if(window.begin(), window.end(), fits);
    if (chosen == window.end()) {
      batches_.emplace_back();
      left = options_.tokens;
      chosen = window.begin();
    }
    batches_.back().push_back(*chosen);
    left -= static_cast<int64_t>(corpus_.at(*chosen).tokens.size());
    window.erase(chosen);
  }
}

PackedBatch Packer::Make(int64_t index) const {
  TRITOGEN_CHECK(0 <= index && index < batches());
  Writer writer(options_);
  for (const int64_t example : batches_[index]) writer.Add(corpus_.at(example));
  return writer.Finish();
}

double Packer::fill() const {
  if (batches_.empty()) return 0;
  return static_cast<double>(corpus_.tokens()) / static_cast<double>(batches() * options_.tokens);
}

}  // namespace tritogen::train
