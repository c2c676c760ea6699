#include "serve/call_options.h"

#include <optional>
#include <random>

namespace tritogen::serve {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMostStops = 16, kMostStopBytes = 1024, kMostStopTokens = 256;

void ReadModel(Body* body, const ServedModel& model) {
  const auto name = body->String("model");
  if (name && *name != model.name) throw NoSuchModel();
}

void AddStop(const Body& body, const json& text, std::vector<std::string>* stops) {
  if (!text.is_string()) {
    body.Fail("stop", fmt::format("expected a string or a list of strings, got {}", text.type_name()));
  }
  const auto& stop = text.get_ref<const std::string&>();
  if (stop.empty()) body.Fail("stop", "an empty string would stop everything");
  if (stop.size() > kMostStopBytes) {
    body.Fail("stop",
              fmt::format("a string of {} bytes, at most {} are allowed", stop.size(), kMostStopBytes));
  }
  stops->push_back(stop);
}

void ReadStops(Body* body, const ServedModel& model, GenerateOptions* options) {
  if (const json* stop = body->Find("stop")) {
    if (stop->is_array()) {
      if (stop->size() > kMostStops) body->Fail("stop", fmt::format("more than {} strings", kMostStops));
      for (const json& text : *stop) AddStop(*body, text, &options->stop);
    } else {
      AddStop(*body, *stop, &options->stop);
    }
  }
  if (body->Bool("ignore_eos", false)) options->stop_tokens.clear();
  if (const json* tokens = body->Find("stop_token_ids")) {
    const bool good = tokens->is_array() && tokens->size() <= kMostStopTokens;
    if (!good)
      body->Fail("stop_token_ids", fmt::format("expected a list of at most {} ids", kMostStopTokens));
    for (const json& token : *tokens) {
      const bool id = token.is_number_unsigned() && token.get<uint64_t>() < uint64_t(model.limits.vocabulary);
      if (!id) body->Fail("stop_token_ids", "expected ids of the model's tokens");
      options->stop_tokens.push_back(token.get<TokenId>());
    }
  }
}

void ReadSampling(Body* body, SamplingOptions* sampling) {
  const auto set = [](float* option, std::optional<double> number) {
    if (number) *option = static_cast<float>(*number);
  };
  set(&sampling->temperature, body->Number("temperature", 0, 2));
  set(&sampling->top_p, body->Positive("top_p", 1));
  set(&sampling->min_p, body->Number("min_p", 0, 1));
  set(&sampling->repetition_penalty, body->Positive("repetition_penalty"));
  if (const auto top_k = body->Int("top_k", -1, INT32_MAX)) {
    sampling->top_k = std::max(0, static_cast<int32_t>(*top_k));
  }
  if (const auto seed = body->Int("seed", INT64_MIN, INT64_MAX)) {
    sampling->seed = static_cast<uint64_t>(*seed);
  } else {
    std::random_device device;
    sampling->seed = uint64_t{device()} << 32 | device();
  }
}

// What OpenAI or other servers have and we do not: taken where it would change nothing.
void RefuseUnsupported(Body* body) {
  for (const char* name : {"frequency_penalty", "presence_penalty"}) {
    body->Only(name, 0, "not supported; repetition_penalty is");
  }
  body->Only("logit_bias", json::object(), "not supported");
  body->Only("min_tokens", 0, "not supported");
  body->Only("include_stop_str_in_output", false, "not supported: texts end before the stop string");
  body->Only("response_format", {{"type", "text"}}, "only text is supported");
  body->Ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                "prompt_cache_retention"});
}

}  // namespace

void ReadOptions(Body* body, const ServedModel& model, int32_t most_choices, Call* call) {
  ReadModel(body, model);
  call->options = model.defaults;
  ReadSampling(body, &call->options.sampling);
  ReadStops(body, model, &call->options);
  call->options.skip_special_tokens = body->Bool("skip_special_tokens", true);
  call->n = static_cast<int32_t>(body->Int("n", 1, most_choices).value_or(1));
  call->stream = body->Bool("stream", false);
  if (auto stream_options = body->Object("stream_options")) {
    if (!call->stream) body->Fail("stream_options", "only for streams");
    call->include_usage = stream_options->Bool("include_usage", false);
    stream_options->Ignore({"include_obfuscation"});
    stream_options->Finish();
  }
  RefuseUnsupported(body);
}

void CheckPrompts(const Call& call, const ServedModel& model, int32_t most_choices,
                  const std::string& param) {
  if (int64_t{call.n} * static_cast<int64_t>(call.prompts.size()) > most_choices) {
    throw ApiError(400,
                   fmt::format("{} prompts with {} answers each, at most {} answers are allowed in a request",
                               call.prompts.size(), call.n, most_choices),
                   "n");
  }
  for (const auto& prompt : call.prompts) {
    if (prompt.empty()) throw ApiError(400, fmt::format("{}: it has no tokens", param), param);
    if (prompt.size() < static_cast<size_t>(model.limits.context)) continue;
    throw ApiError(400,
                   fmt::format("{}: {} tokens, but the context is {}, the answer included", param,
                               prompt.size(), model.limits.context),
                   param, "context_length_exceeded");
  }
}

}  // namespace tritogen::serve
