#include "cli/model_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/numbers.h"
#include "cli/opening_notice.h"
#include "cli/session.h"
#include "engine/generation_config.h"
#include "model/config.h"

namespace tritogen {
// Not through the ends of libraries, which may wait for the others; those end with this process.
void EndForLostRank(const std::string& why, bool users_fault) {
  fmt::print(stderr, "tritogen: {}\n", why);
  std::fflush(stderr);
  if (ftrylockfile(stdout) == 0) std::fflush(stdout);  // who prints may wait for a reader forever
  std::_Exit(users_fault ? kWrongUseExit : kFaultExit);
}

void AddRankOptions(CLI::App* app, RankOptions* options) {
  app->add_option("--tensor-parallel", options->size,
                  "so many GPUs share the model, with a process each: 2, 4, 8 (with --device cpu the tile "
                  "machine stands for them: slow, for tests)")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--rank-timeout", options->timeout_seconds,
                  "seconds after which GPUs that do not end a step together are given up")
      ->check(kSeconds)
      ->capture_default_str();
}

void ModelOptions::AddTo(CLI::App* app) {
  app->add_option("--model", folder, "folder with config.json, tokenizer.json and safetensors")->required();
  app->add_option("--device", runner.device, "where the model runs")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app->add_option("--dtype", runner.dtype, "of weights (auto: as the files have them; int8: on CPUs only)")
      ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16", "int8"}))
      ->capture_default_str();
  app->add_option("--context", runner.context, "positions of one text at most (default: the model's)")
      ->check(kPositive);
  app->add_option("--cache-gib", runner.cache_gib, "memory for keys and values (default: what is free)")
      ->check(kPositive);
  app->add_flag("--batch-invariant", runner.batch_invariant,
                "GPUs: the same bits whoever shares the batch, for some speed");
  app->add_flag("!--no-graphs", runner.graphs, "GPUs: launch decode steps kernel by kernel, to find faults");
  AddRankOptions(app, &runner.ranks);
  app->add_option("--batch", runner.slots, "sequences computed at once, at most")->check(CLI::Range(1, 4096));
}

ModelSession OpenModel(const ModelOptions& options, const Environment& environment) {
  const std::filesystem::path folder = options.folder;
  if (!std::filesystem::is_directory(folder))
    throw UserError(fmt::format("there is no model folder '{}'", options.folder));
  ModelSession session{.name = std::filesystem::weakly_canonical(folder).filename().string()};
  const ModelConfig config = LoadModelConfig(folder / "config.json");
  session.tokenizer = std::make_unique<const Tokenizer>(LoadTokenizer(folder / "tokenizer.json"));
  FoundChatTemplate chat = FindChatTemplate(folder);
  session.chat_template = std::move(chat.found);
  session.why_no_chat = std::move(chat.why_none);
  session.defaults = LoadGenerationConfig(folder);
  for (const int64_t eos : config.eos) session.defaults.stop_tokens.push_back(static_cast<TokenId>(eos));
  RunnerOptions runner = options.runner;
  runner.compiler = {.python = environment.python,
                     .worker_folder = environment.root + "/worker",
                     .cache_folder = CacheFolder() / "kernels"};
  runner.on_lost = EndForLostRank;
  OpeningNotice notice;
  runner.on_opening = [&notice](const Opening& at) { notice.Set(at); };
  OpenedRunner opened = OpenRunner(folder, runner);
  EngineOptions engine = options.engine;
  engine.overlap = engine.overlap && opened.overlaps;
  session.engine = std::make_unique<Engine>(std::move(opened.runner), session.tokenizer.get(), engine);
  return session;
}

}  // namespace tritogen
