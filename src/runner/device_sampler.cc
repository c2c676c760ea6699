#include "runner/device_sampler.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen {
namespace {

constexpr int64_t kChunk = 4096, kFound = 4;  // of kernels/sampling.py
constexpr int64_t kChunks = 128;              // CHUNKS of pick_tokens
constexpr int64_t kMostChunks = 1024;         // and of its form for wide rows
constexpr int64_t kMarkBlock = 256;

}  // namespace

DeviceSampler::DeviceSampler(int64_t rows, int64_t slots, int64_t vocabulary, const at::Tensor& like)
    : vocabulary_(vocabulary),
      words_(CeilDiv(vocabulary, 32)),
      chunks_(CeilDiv(vocabulary, kChunk)),
      dtype_(BuiltinDtype(like.scalar_type())),
      form_((vocabulary % 16 == 0 ? "aligned." : "") + dtype_),
      pick_tokens_("pick_tokens." + (chunks_ <= kChunks ? form_ : "wide." + dtype_)) {
  TRITOGEN_CHECK(chunks_ <= kMostChunks);  // ModelConfig has no larger vocabulary
  const auto ints = like.options().dtype(at::kInt), floats = like.options().dtype(at::kFloat);
  last_ = at::zeros({slots}, ints);
  seen_ = at::zeros({slots, words_}, ints);
  cuts_ = at::empty({rows}, floats);
  found_ = at::empty({rows, chunks_, kFound}, floats);
  places_ = at::empty({rows, chunks_}, ints);
}

std::vector<std::string> DeviceSampler::KernelNames() const {
  const std::string sample_chunks = "sample_chunks." + form_;
  return {"mark_seen",          pick_tokens_ + ".0",   pick_tokens_ + ".1",   sample_chunks + ".0",
          sample_chunks + ".1", "cut_logits." + form_, "top_logits." + dtype_};
}

void DeviceSampler::Sample(const at::Tensor& logits, const SampleRows& rows, bool cuts,
                           const SampleOut& out) {
  const int64_t n = logits.size(0);
  if (cuts) {
    LaunchBuiltin("cut_logits." + form_, n,
                  {logits, seen_, rows.numbers, rows.whole, cuts_, vocabulary_, words_});
  }
  const std::string choice = cuts ? ".1" : ".0";
  LaunchBuiltin("sample_chunks." + form_ + choice, {n, chunks_},
                {logits, seen_, rows.numbers, rows.whole, cuts_, found_, places_, vocabulary_, words_});
  LaunchBuiltin(pick_tokens_ + choice, n,
                {logits, seen_, rows.numbers, rows.whole, cuts_, found_, places_, last_, out.tokens,
                 out.logprobs, chunks_, vocabulary_, words_});
}

void DeviceSampler::TopLogits(const at::Tensor& logits, const SampleRows& rows, const SampleOut& out) {
  LaunchBuiltin("top_logits." + dtype_, logits.size(0),
                {logits, rows.whole, out.top_tokens, out.top_logits, vocabulary_});
}

void DeviceSampler::SetSeen(int64_t slot, at::IntArrayRef tokens) {
  seen_.select(0, slot).zero_();
  if (tokens.empty()) return;
  const auto count = static_cast<int64_t>(tokens.size());
  const at::Tensor on_device = at::tensor(tokens, at::TensorOptions(at::kInt)).to(seen_.device());
  LaunchBuiltin("mark_seen", CeilDiv(count, kMarkBlock),
                {on_device, at::full_like(on_device, slot), seen_, count, words_});
}

}  // namespace tritogen
