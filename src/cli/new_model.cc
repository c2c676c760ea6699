// new-model: a folder to train from scratch.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "model/weights.h"
#include "train/new_policy.h"

namespace tritogen {
namespace {

struct NewModelOptions {
  std::string out;
  train::CorpusOptions data;
  train::PolicyOptions policy;
};

std::string Spread(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  const auto at = [&](double share) { return values[static_cast<size_t>(share * (values.size() - 1))]; };
  return fmt::format("mean {:.0f}, median {}, 99% {}, most {}", static_cast<double>(sum) / values.size(),
                     at(0.5), at(0.99), values.back());
}

// How long the data is in the new vocabulary.
void PrintLengths(const train::Corpus& corpus) {
  std::vector<int64_t> prompts, plans, codes, all;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const auto view = corpus.at(i);
    const auto size = static_cast<int64_t>(view.tokens.size());
    prompts.push_back(view.plan);
    plans.push_back(view.code - view.plan);
    codes.push_back(size - view.code);
    all.push_back(size);
  }
  fmt::print("tokens of a prompt: {}\n", Spread(prompts));
  fmt::print("tokens of a plan:   {}\n", Spread(plans));
  fmt::print("tokens of code:     {}\n", Spread(codes));
  fmt::print("tokens in all:      {}\n", Spread(all));
}

int Make(const NewModelOptions& o) {
  CatchInterrupt();
  std::optional<Progress> progress;
  train::ReadHooks hooks{.progress =
                             [&](int64_t done, int64_t total) {
                               if (!progress) progress.emplace("KiB", total / 1024);
                               progress->Set(done / 1024);
                             },
                         .stop = Interrupted};
  if (!train::MakePolicy(o.out, o.policy, o.data, hooks)) return kInterruptedExit;
  const train::ChatFormat format = train::LoadChatFormat(o.out);
  const ModelConfig config = LoadModelConfig(o.out + "/config.json");
  const auto read = train::ReadCorpus(o.data, format, o.policy.context, 0, hooks);
  if (!read) return kInterruptedExit;
  progress.reset();
  const int64_t parameters = Parameters(config);
  fmt::print("{}: {} parameters, {:.1f} MB in bfloat16; {} tokens\n", o.out, parameters,
             2e-6 * static_cast<double>(parameters), format.tokenizer.id_end());
  fmt::print("{}\n", read->counts.ToText(o.policy.context));
  PrintLengths(read->corpus);
  return 0;
}

}  // namespace

int RunNewModel(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Makes a model folder to train from scratch: Qwen3's architecture, a byte-level vocabulary of its own "
      "made "
      "from\nthe data, weights as training begins with. Says how long the data is in that vocabulary.",
      "./tritogen new-model");
  NewModelOptions o;
  app.add_option("--data", o.data.data, "folders of sets, shards, or files of JSON lines")->required();
  app.add_option("--out", o.out, "folder of the model")->required();
  app.add_option("--prompt", o.data.prompt, "how records are asked")->capture_default_str();
  const auto number = [&](const char* name, int64_t* value, const char* what) {
    app.add_option(name, *value, what)
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->capture_default_str();
  };
  number("--vocabulary", &o.policy.vocabulary, "tokens");
  number("--context", &o.policy.context, "positions");
  number("--hidden", &o.policy.hidden, "width");
  number("--layers", &o.policy.layers, "layers");
  number("--heads", &o.policy.heads, "heads");
  number("--kv-heads", &o.policy.kv_heads, "heads of keys and values");
  number("--head-dim", &o.policy.head_dim, "width of a head");
  number("--intermediate", &o.policy.intermediate, "width of an MLP");
  app.add_option("--seed", o.policy.seed, "of the weights")->check(kSeed)->capture_default_str();
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Make(o);
}

}  // namespace tritogen
