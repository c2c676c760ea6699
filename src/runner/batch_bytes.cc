#include "runner/batch_bytes.h"

#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace tritogen {
namespace {

static_assert(std::is_trivially_copyable_v<SamplingOptions> && sizeof(SamplingOptions) % 4 == 0);
constexpr size_t kSamplingWords = sizeof(SamplingOptions) / 4;

void Put(std::span<const int32_t> run, std::vector<int32_t>* words) {
  words->push_back(static_cast<int32_t>(run.size()));
  words->insert(words->end(), run.begin(), run.end());
}

class Reader {
 public:
  explicit Reader(std::span<const int32_t> words) : rest_(words) {}

  int32_t Next() { return Run(1)[0]; }
  std::span<const int32_t> Run() { return Run(Count()); }
  std::span<const int32_t> Run(size_t count) {
    if (count > rest_.size()) throw FormatError("a batch ends too early");
    const auto run = rest_.first(count);
    rest_ = rest_.subspan(count);
    return run;
  }
  size_t Count() {
    const int32_t count = Next();
    if (count < 0) throw FormatError("a batch has a negative count");
    return static_cast<size_t>(count);
  }
  bool done() const { return rest_.empty(); }

 private:
  std::span<const int32_t> rest_;
};

SlotStart ReadStart(Reader* in) {
  SlotStart start{.slot = in->Next()};
  start.prompt_tokens = in->Next();
  std::memcpy(static_cast<void*>(&start.sampling), in->Run(kSamplingWords).data(), sizeof start.sampling);
  start.seen = in->Run();
  return start;
}

PrefillChunk ReadChunk(Reader* in) {
  const int32_t start = in->Next(), stretch = in->Next();
  const auto tokens = in->Run();
  return {.start = start, .tokens = tokens, .blocks = in->Run(), .stretch = stretch};
}

DecodeRow ReadRow(Reader* in) {
  const auto head = in->Run(4);
  return {.slot = head[0], .position = head[1], .token = head[2], .draw = head[3], .blocks = in->Run()};
}

}  // namespace

std::string EncodeBatch(const Batch& batch) {
  std::vector<int32_t> words;
  for (const size_t count :
       {batch.starts.size(), batch.copies.size(), batch.prefill.size(), batch.decode.size()}) {
    words.push_back(static_cast<int32_t>(count));
  }
  for (const SlotStart& start : batch.starts) {
    words.insert(words.end(), {start.slot, start.prompt_tokens});
    words.resize(words.size() + kSamplingWords);
    std::memcpy(&words[words.size() - kSamplingWords], &start.sampling, sizeof start.sampling);
    Put(start.sampling.repetition_penalty == 1 ? std::span<const TokenId>() : start.seen, &words);
  }
  for (const BlockCopy& copy : batch.copies) words.insert(words.end(), {copy.from, copy.to});
  for (const PrefillChunk& chunk : batch.prefill) {
    words.insert(words.end(), {chunk.start, chunk.stretch});
    Put(chunk.tokens, &words);
    Put(chunk.blocks, &words);
  }
  for (const DecodeRow& row : batch.decode) {
    words.insert(words.end(), {row.slot, row.position, row.token, row.draw});
    Put(row.blocks, &words);
  }
  return std::string(reinterpret_cast<const char*>(words.data()), 4 * words.size());
}

DecodedBatch::DecodedBatch(std::string_view bytes) : words(bytes.size() / 4) {
  if (bytes.size() % 4 != 0) throw FormatError("a batch is not made of whole words");
  std::memcpy(words.data(), bytes.data(), bytes.size());
  Reader in(words);
  const auto counts = in.Run(4);
  for (int32_t i = 0; i < counts[0]; ++i) batch.starts.push_back(ReadStart(&in));
  for (int32_t i = 0; i < counts[1]; ++i) {
    const auto pair = in.Run(2);
    batch.copies.push_back({pair[0], pair[1]});
  }
  for (int32_t i = 0; i < counts[2]; ++i) batch.prefill.push_back(ReadChunk(&in));
  for (int32_t i = 0; i < counts[3]; ++i) batch.decode.push_back(ReadRow(&in));
  if (!in.done()) throw FormatError("a batch is longer than it says");
}

}  // namespace tritogen
