// generate: answers of a model to one prompt or to a file of them.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/generate_run.h"
#include "cli/interrupt.h"
#include "cli/model_session.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "cli/progress.h"

namespace tritogen {
namespace {

constexpr int32_t kMaxTokens = 512;  // of an answer, unless something else is asked for

struct Options {
  ModelOptions model;
  std::string prompt, prompts_file, out;
  bool has_prompt = false, chat = false, stream = false, json = false, ignore_eos = false;
  int32_t n = 1, max_tokens = kMaxTokens;
  std::vector<std::string> stop;
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<int32_t> top_k, logprobs;
  std::optional<uint64_t> seed;
};

void AddSampling(CLI::App* app, Options* o) {
  app->add_option("--max-tokens", o->max_tokens, "tokens of an answer at most; 0: to the end of the context")
      ->check(kNonNegative)
      ->capture_default_str();
  app->add_option("--temperature", o->temperature, "0: always the most probable token");
  app->add_option("--top-k", o->top_k, "only so many of the most probable tokens; 0: all");
  app->add_option("--top-p", o->top_p, "only the most probable tokens that have this share together");
  app->add_option("--min-p", o->min_p,
                  "only tokens at least this times as probable as the most probable one");
  app->add_option("--repetition-penalty", o->repetition_penalty, "above 1: tokens come again less often");
  app->add_option("--seed", o->seed, "the same seed gives the same answers (default: drawn, and printed)")
      ->check(kSeed);
  app->add_option("--stop", o->stop, "the answer ends before this text; may be given several times");
  app->add_flag("--ignore-eos", o->ignore_eos, "go on behind the model's end of text");
}

void AddOptions(CLI::App* app, Options* o) {
  o->model.AddTo(app);
  app->add_option("--prompt", o->prompt, "the text to go on from");
  app->add_option(
      "--prompts", o->prompts_file,
      "JSONL file with {\"prompt\": \"...\"} or {\"messages\": [...]} on each line, and an \"id\" "
      "where wanted");
  app->add_flag("--chat", o->chat, "prompts are messages of a user: apply the model's chat template");
  app->add_option("-n", o->n, "answers to each prompt")->check(CLI::Range(1, kMostSequences));
  AddSampling(app, o);
  app->add_option("--logprobs", o->logprobs,
                  "in JSON: each token's probability, and those of so many of the most probable ones")
      ->check(CLI::Range(0, kMostTopLogprobs));
  app->add_flag("--stream", o->stream, "print the answer as it comes (one prompt, one answer)");
  app->add_flag("--json", o->json, "print a JSON object for each answer");
  app->add_option("--out", o->out,
                  "append JSON objects to this file, and skip prompts whose answers it holds already");
}

void CheckOptions(const Options& o) {
  if (o.has_prompt == !o.prompts_file.empty())
    throw UserError("give either --prompt TEXT or --prompts FILE.jsonl (--help says more)");
  if (o.stream && (!o.prompts_file.empty() || o.n > 1 || o.json || !o.out.empty()))
    throw UserError(
        "--stream prints the text of one answer: it goes with --prompt, without -n, --json and --out");
  if (o.logprobs && !o.json && o.out.empty()) throw UserError("--logprobs needs --json or --out FILE");
  if (!IsUtf8(o.prompt)) throw UserError("--prompt is no valid UTF-8");
  if (!std::ranges::all_of(o.stop, IsUtf8)) throw UserError("--stop is no valid UTF-8");
  RequireWritable(o.out, {o.prompts_file});
}

GenerateOptions Sampling(const Options& o, const GenerateOptions& defaults) {
  GenerateOptions options = defaults;
  SamplingOptions& s = options.sampling;
  s.temperature = o.temperature.value_or(s.temperature);
  s.top_k = o.top_k.value_or(s.top_k);
  s.top_p = o.top_p.value_or(s.top_p);
  s.min_p = o.min_p.value_or(s.min_p);
  s.repetition_penalty = o.repetition_penalty.value_or(s.repetition_penalty);
  s.seed = o.seed ? *o.seed : SecretSeed();
  s.top_logprobs = o.logprobs.value_or(0);
  options.max_tokens = o.max_tokens;
  options.stop = o.stop;
  if (o.ignore_eos) options.stop_tokens.clear();
  return options;
}

std::vector<Prompt> Prompts(const Options& o) {
  std::vector<Prompt> prompts;
  if (o.has_prompt)
    prompts.push_back({.id = "prompt", .text = o.prompt});
  else
    prompts = ReadPrompts(o.prompts_file);
  if (o.chat) std::ranges::transform(prompts, prompts.begin(), AsChat);
  if (!o.out.empty()) {
    const std::set<std::string> answered = AnsweredIds(o.out, o.n);
    const size_t skipped = std::erase_if(prompts, [&](const Prompt& p) { return answered.contains(p.id); });
    if (skipped > 0)
      fmt::print(stderr, "tritogen generate: {} prompts are answered in {} already\n", skipped, o.out);
  }
  return prompts;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// One answer's generation is timed from its first token on; many overlap, so all rates are of the whole run.
void PrintRates(const GenerateTally& tally, const EngineStats& stats, uint64_t seed) {
  if (tally.first_token_seconds.empty()) return;
  const bool alone = tally.first_token_seconds.size() == 1;
  const auto prompt = static_cast<double>(stats.prompt_tokens),
             generated = static_cast<double>(stats.generated_tokens);
  const double prompt_seconds = alone ? tally.first_seconds : tally.seconds;
  fmt::print(stderr, "prompts: {} tokens, {} of them found in the cache, {:.1f}/s; generated: {} tokens",
             stats.prompt_tokens, stats.cached_prompt_tokens, prompt / prompt_seconds,
             stats.generated_tokens);
  if (!alone)
    fmt::print(stderr, ", {:.1f}/s", generated / tally.seconds);
  else if (generated > 1)
    fmt::print(stderr, ", {:.1f}/s after the first", (generated - 1) / (tally.seconds - tally.first_seconds));
  fmt::print(stderr, "; time to first token: {}{:.0f} ms; {:.2f} s; seed {}\n", alone ? "" : "median ",
             1000 * Median(tally.first_token_seconds), tally.seconds, seed);
}

GenerateTally Run(const std::vector<Prompt>& prompts, const Options& o, const ModelSession& session,
                  const GenerateOptions& options) {
  AnswerOutput output({.json = o.json,
                       .file = o.out,
                       .logprobs = o.logprobs.has_value(),
                       .headings = o.n > 1 || !o.prompts_file.empty()},
                      session.tokenizer.get());
  std::optional<Progress> progress;
  if (!o.prompts_file.empty()) progress.emplace("prompts", static_cast<int64_t>(prompts.size()));
  int64_t done = 0;
  auto count = [&] {
    if (progress) progress->Set(++done, fmt::format("{} tokens", session.engine->Stats().generated_tokens));
  };
  GenerateRun run{.tokenizer = session.tokenizer.get(),
                  .chat_template = session.chat_template ? &*session.chat_template : nullptr,
                  .why_no_chat = session.why_no_chat,
                  .options = options,
                  .n = o.n,
                  .stream = o.stream,
                  .stop = Interrupted};
  run.on_text = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  run.on_answers = [&](const Prompt& prompt, const std::vector<Completion>& answers) {
    if (progress) progress->Clear();
    for (const Completion& answer : answers) {
      if (!answer.error.empty())
        fmt::print(stderr, "tritogen generate: {}, answer {}: {}\n", prompt.id, answer.index + 1,
                   answer.error);
    }
    o.stream ? static_cast<void>(std::puts("")) : output.Write(prompt.id, answers);
    count();
  };
  run.on_refused = [&](const Prompt& prompt, const std::string& why) {
    if (o.has_prompt) throw UserError(why);
    if (progress) progress->Clear();
    const std::string& name = prompt.fault.empty() ? prompt.id + ": " : "";
    fmt::print(stderr, "tritogen generate: {}: {}{}\n", o.prompts_file, name, why);
    count();
  };
  return Generate(prompts, run, session.engine.get());
}

}  // namespace

int RunGenerate(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Answers of a language model. Exit code 0, 1 when lines of the prompts' file could not be used, 2 "
      "wrong "
      "use,\n3 when answers ended with an error, 130 after Ctrl-C, which prints what there is.",
      "./tritogen generate");
  Options options;
  AddOptions(&app, &options);
  if (auto code = Parse(&app, argc, argv)) return *code;
  options.has_prompt = app.count("--prompt") > 0;
  CheckOptions(options);
  const std::vector<Prompt> prompts = Prompts(options);
  if (prompts.empty()) return 0;

  CatchInterrupt();
  const ModelSession session = OpenModel(options.model, environment);
  const GenerateOptions sampling = Sampling(options, session.defaults);
  const GenerateTally tally = Run(prompts, options, session, sampling);
  PrintRates(tally, session.engine->Stats(), sampling.sampling.seed);
  if (tally.interrupted) {
    fmt::print(stderr, "interrupted after {} of {} prompts{}\n", tally.prompts, prompts.size(),
               options.out.empty() ? "" : "; run it again to go on");
    return kInterruptedExit;
  }
  if (tally.failed > 0) return kFaultExit;
  return tally.refused > 0 ? kFlawedExit : kDoneExit;
}

}  // namespace tritogen
