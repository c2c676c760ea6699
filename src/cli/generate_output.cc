#include "cli/generate_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;

const char* FinishName(FinishReason finish) {
  switch (finish) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

json LogprobJson(const TokenLogprob& t, const Tokenizer& tokenizer) {
  const json logprob = std::isfinite(t.logprob) ? json(t.logprob) : json(nullptr);
  return {{"token", t.token},
          {"text", ReplaceMalformedUtf8(tokenizer.TokenBytes(t.token))},
          {"logprob", logprob}};
}

}  // namespace

json AnswerJson(const std::string& id, const Completion& answer, bool logprobs, const Tokenizer& tokenizer) {
  json tokens = json::array(), probabilities = json::array();
  for (const Sample& sample : answer.samples) {
    tokens.push_back(sample.chosen.token);
    if (!logprobs) continue;
    json entry = LogprobJson(sample.chosen, tokenizer);
    entry["top"] = json::array();
    for (const TokenLogprob& other : sample.top) entry["top"].push_back(LogprobJson(other, tokenizer));
    probabilities.push_back(std::move(entry));
  }
  json object = {{"id", id},
                 {"index", answer.index},
                 {"text", answer.text},
                 {"tokens", std::move(tokens)},
                 {"finish", FinishName(answer.finish)}};
  if (logprobs) object["logprobs"] = std::move(probabilities);
  if (!answer.error.empty()) object["error"] = answer.error;
  return object;
}

std::set<std::string> AnsweredIds(const std::string& path, int32_t answers) {
  std::set<std::string> ids;
  std::string last;
  int32_t count = 0;  // of answers to `last`, whose lines stand together
  const int64_t foreign = ReadOldLines(path, [&](const json& object) {
    const std::string id = object.is_object() && object.contains("id") && object["id"].is_string()
                               ? object["id"].get<std::string>()
                               : "";
    if (count > 0 && id != last) return OldLine::kForeign;  // the one before is short of some
    last = id;
    if (++count > answers || id.empty() || object.value("index", json()) != json(count - 1))
      return OldLine::kForeign;
    if (count < answers) return OldLine::kPart;
    ids.insert(last);
    count = 0;
    return OldLine::kWhole;
  });
  if (foreign == 0) return ids;
  throw UserError(
      fmt::format("'{}' holds something else than {} answers to each prompt; name another file for --out",
                  path, answers));
}

AnswerOutput::AnswerOutput(const OutputOptions& options, const Tokenizer* tokenizer)
    : options_(options), tokenizer_(tokenizer), file_(options.file) {}

void AnswerOutput::Write(const std::string& id, const std::vector<Completion>& answers) {
  std::string lines, texts;
  bool cut_off = false;
  for (const Completion& answer : answers) {
    cut_off = cut_off || answer.finish == FinishReason::kCancelled || answer.finish == FinishReason::kError;
    lines += AnswerJson(id, answer, options_.logprobs, *tokenizer_)
                 .dump(-1, ' ', false, json::error_handler_t::replace) +
             "\n";
    if (options_.headings)
      texts += fmt::format("--- {}, answer {} ({})\n", PrintableText(id, 200), answer.index + 1,
                           FinishName(answer.finish));
    texts += answer.text + "\n";
  }
  if (file_.is_open() && !cut_off) file_.Write(lines);
  if (!file_.is_open() || options_.json) {
    const std::string& out = options_.json ? lines : texts;
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
  }
}

}  // namespace tritogen
