#include "cli/generate_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/files.h"

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
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};  // pipes and devices may never end
  std::ifstream in(path, std::ios::binary);
  std::set<std::string> ids;
  std::string line, last;
  uintmax_t complete = 0, read = 0;
  int32_t count = 0;  // of answers to `last`, whose lines stand together
  const auto refuse = [&] {
    throw UserError(
        fmt::format("'{}' holds something else than {} answers to each prompt; name another file for --out",
                    path, answers));
  };
  while (std::getline(in, line)) {
    if (in.eof()) {  // no line break at its end
      if (!MayBeCutLine(line)) refuse();
      break;
    }
    read += line.size() + 1;
    const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
    const std::string id = object.is_object() && object.contains("id") && object["id"].is_string()
                               ? object["id"].get<std::string>()
                               : "";
    if (count > 0 && id != last) count = answers + 1;  // the one before is short of some
    last = id;
    if (++count > answers || id.empty() || object.value("index", json()) != json(count - 1)) refuse();
    if (count < answers) continue;
    ids.insert(last);
    complete = read;
    count = 0;
  }
  in.close();
  if (std::filesystem::file_size(path, error) != complete && !error)
    std::filesystem::resize_file(path, complete);
  return ids;
}

AnswerOutput::AnswerOutput(const OutputOptions& options, const Tokenizer* tokenizer)
    : options_(options), tokenizer_(tokenizer) {
  if (options.file.empty()) return;
  file_.open(options.file, std::ios::app | std::ios::binary);
  if (!file_) throw UserError(fmt::format("cannot write to '{}'", options.file));
}

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
  if (file_.is_open() && !cut_off && !(file_ << lines << std::flush))
    throw UserError(fmt::format("cannot write to '{}': is the disk full?", options_.file));
  if (!file_.is_open() || options_.json) {
    const std::string& out = options_.json ? lines : texts;
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
  }
}

}  // namespace tritogen
