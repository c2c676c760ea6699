#include "train/start.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"
#include "config/toml.h"
#include "model/model_folder.h"
#include "train/new_policy.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMadeFrom = "made_from.json";

// What a new model is made from: its options, and where its vocabulary is from.
std::string MadeFrom(SftOptions options) {
  const nlohmann::ordered_json from = config::WriteJson([&](config::Fields* fields) {
    fields->Section("new", [&](config::Fields* f) { Describe(f, &options.model.fresh); });
    fields->Section("data", [&](config::Fields* f) { Describe(f, &options.data.corpus); });
  });
  return from.dump(1) + "\n";
}

// A model of another configuration, which no checkpoint goes on from yet.
bool IsStale(const fs::path& folder, const SftOptions& options, const SftRun& run) {
  if (LatestCheckpoint(run.out / "checkpoints")) return false;  // what differs there is refused by name
  return Exists(folder / kMadeFrom) && ReadFile(folder / kMadeFrom) != MadeFrom(options);
}

// The folder whose weights the run begins with; a new model is made once. It is not there when making it was
// interrupted.
fs::path StartFolder(const SftOptions& options, const SftRun& run, Ranks* ranks) {
  if (!options.model.from.empty()) return options.model.from;
  const fs::path folder = run.out / "start";
  if (ranks->rank() == 0 && (!Exists(folder) || IsStale(folder, options, run))) {
    const fs::path partial = run.out / "start.partial";
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    run.on_remark("making a new model: its vocabulary comes from the data");
    const ReadHooks hooks{.progress = run.on_reading, .stop = run.interrupted};
    fs::remove_all(folder, ignored);
    if (MakePolicy(partial, options.model.fresh, options.data.corpus, hooks)) {
      WriteFileAtomic(partial / kMadeFrom, MadeFrom(options));
      PublishFolder(partial, folder);
    }
  }
  ranks->FollowFirst();
  return folder;
}

void CheckFits(const SftOptions& options, const ModelConfig& config, const ChatFormat& format,
               const std::string& folder) {
  if (format.tokenizer.id_end() > config.vocabulary) {
    throw UserError(
        fmt::format("the tokenizer of {} has ids up to {}, and its weights only {} rows for them: they do "
                    "not belong together",
                    folder, format.tokenizer.id_end() - 1, config.vocabulary));
  }
  if (options.data.longest > config.max_positions) {
    throw UserError(fmt::format("data.longest = {}: the model in {} has {} positions", options.data.longest,
                                folder, config.max_positions));
  }
}

// Nothing when it was interrupted.
std::optional<Corpus> Read(const SftOptions& options, const SftRun& run, const ChatFormat& format,
                           const char* split) {
  CorpusOptions corpus = options.data.corpus;
  corpus.split = split;
  const ReadHooks hooks{.progress = run.on_reading, .stop = run.interrupted};
  std::optional<CorpusRead> read = ReadCorpus(corpus, format, options.data.longest, 0, hooks);
  if (!read) return std::nullopt;
  run.on_remark(fmt::format("{} data: {}", split, read->counts.ToText(options.data.longest)));
  return std::move(read->corpus);
}

std::optional<Corpus> ReadTest(const SftOptions& options, const SftRun& run, const ChatFormat& format) {
  try {
    return Read(options, run, format, "test");
  } catch (const UserError& error) {
    throw UserError(
        fmt::format("what is held out for tests: {} (eval.batches = 0 does without)", error.what()));
  }
}

// This rank's part of the first batches.
std::vector<DeviceBatch> HeldOut(const Corpus& corpus, const SftOptions& options, const Ranks& ranks,
                                 bool on_gpu) {
  Packer packer(corpus, PackingOf(options));
  packer.BeginEpoch(0);
  std::vector<DeviceBatch> mine;
  for (int64_t i = ranks.rank(); i < std::min(packer.batches(), options.eval.batches); i += ranks.size())
    mine.push_back(OnHost(packer.Make(i), on_gpu));
  return mine;
}

}  // namespace

std::optional<RunData> ReadRunData(const SftOptions& options, const SftRun& run, Ranks* ranks) {
  const fs::path model = StartFolder(options, run, ranks);
  if (run.interrupted() && !Exists(model)) return std::nullopt;
  const ModelConfig config = LoadModelConfig(model / "config.json");
  const ChatFormat format = LoadChatFormat(model);
  CheckFits(options, config, format, model.string());
  std::optional<Corpus> corpus = Read(options, run, format, "train");
  if (!corpus) return std::nullopt;
  RunData data{.model = model, .config = config, .corpus = *std::move(corpus)};
  if (options.eval.batches == 0) return data;
  const std::optional<Corpus> test = ReadTest(options, run, format);
  if (!test) return std::nullopt;
  data.held_out = HeldOut(*test, options, *ranks, run.device == "cuda");
  return data;
}

PackingOptions PackingOf(const SftOptions& options) {
  return {.tokens = options.train.batch_tokens,
          .longest = options.data.longest,
          .plan_weight = options.data.plan_weight,
          .code_weight = options.data.code_weight,
          .seed = options.train.seed};
}

HostState FirstState(const ModelConfig& config, const fs::path& folder) {
  HostState state(config);
  const DecoderWeights start = LoadDecoder(folder, at::kFloat, at::kCPU);
  const auto to = state.master.weights.Named();
  for (const auto& [name, tensor] : start.Named()) to.at(name).copy_(tensor);
  return state;
}

}  // namespace tritogen::train
