// Bodies of requests: refused with an error that is JSON, or a call that the engine may have, whose reply is
// JSON, whatever the tokens.
#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"
#include "serve/reply.h"
#include "serve/test_model.h"

namespace {

using namespace tritogen;

void Expect(bool good) {
  if (!good) std::abort();
}

void CheckCall(const serve::Call& call, const serve::ServedModel& model) {
  Expect(call.n >= 1 && call.choices() <= 16 &&
         (call.echoes.empty() || call.echoes.size() == call.prompts.size()));
  for (const auto& prompt : call.prompts) {
    Expect(!prompt.empty() && prompt.size() < static_cast<size_t>(model.limits.context));
    for (const TokenId token : prompt) Expect(token >= 0 && token < model.limits.vocabulary);
  }
  const SamplingOptions& sampling = call.options.sampling;
  Expect(sampling.temperature >= 0 && sampling.top_p > 0 && sampling.top_p <= 1 && sampling.min_p >= 0 &&
         sampling.min_p <= 1 && sampling.top_k >= 0 && sampling.repetition_penalty > 0 &&
         sampling.top_logprobs >= 0 && sampling.top_logprobs <= kMostTopLogprobs);
  for (const std::string& stop : call.options.stop) Expect(!stop.empty() && IsUtf8(stop));
}

void CheckReply(const serve::Call& call, const serve::ServedModel& model, uint8_t byte) {
  serve::Reply reply(call, model, "id", 1);
  std::string events;
  for (size_t prompt = 0; prompt < call.prompts.size(); ++prompt) {
    for (int32_t i = 0; i < call.n; ++i) {
      const TokenId token = byte % model.limits.vocabulary;
      const std::vector<Sample> samples = {{{token, -1}, {{token, -1}, {token + 1, -2}}}};
      events += reply.Add(prompt, {.index = i, .samples = samples, .text = "\xc3\xbc\""});
      events += reply.Add(prompt, {.index = i, .samples = samples, .finish = FinishReason::kStop});
    }
  }
  Expect(reply.complete() && events.empty() != call.stream);
  if (!call.stream) Expect(serve::Json::accept(reply.Finish()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static serve::TestModel model;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {serve::ParseCompletion, serve::ParseChat}) {
    try {
      const serve::Call call = parse(body, model.served, 16, &model.encoder);
      CheckCall(call, model.served);
      CheckReply(call, model.served, size > 20 ? data[20] : 0);
    } catch (const serve::ApiError& error) {
      Expect(serve::Json::accept(error.Body()) && error.status() >= 400 && error.status() < 500);
    }
  }
  return 0;
}
