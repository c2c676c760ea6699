#include "train/sft.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fd.h"
#include "cuda/roofline.h"
#include "model/model_folder.h"
#include "train/new_policy.h"
#include "train/sft_loop.h"
#include "verify/gpu.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;

// One run at a time in a folder: a lock of this process, which the kernel frees.
UniqueFd LockFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(fmt::format("cannot make {}: {}", folder.string(), error.message()));
  const std::string name = (folder / ".lock").string();
  UniqueFd lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock.valid()) throw UserError(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(lock.get(), F_SETLK, &whole) != 0)
    throw UserError(fmt::format("another run works in {}; wait for it, or choose another --out", folder.string()));
  return lock;
}

// The folder whose weights the run begins with; a new model is made once. It is not there when making it was
// interrupted.
fs::path StartFolder(const SftOptions& options, const SftRun& run, Ranks* ranks) {
  if (!options.model.from.empty()) return options.model.from;
  const fs::path folder = run.out / "start";
  if (ranks->rank() == 0 && !Exists(folder)) {
    const fs::path partial = run.out / "start.partial";
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    run.on_remark("making a new model: its vocabulary comes from the data");
    const auto tokenizer =
        TrainPolicyTokenizer(options.data.corpus, options.model.fresh, {.stop = run.interrupted});
    if (tokenizer) {
      WritePolicyFolder(partial, options.model.fresh, *tokenizer);
      PublishFolder(partial, folder);
    }
  }
  ranks->FollowFirst();
  return folder;
}

void CheckFits(const SftOptions& options, const ModelConfig& config, const ChatFormat& format,
               const std::string& folder) {
  if (format.tokenizer.id_end() > config.vocabulary) {
    throw UserError(fmt::format("the tokenizer of {} has ids up to {}, and its weights only {} rows for them: they do "
                                "not belong together",
                                folder, format.tokenizer.id_end() - 1, config.vocabulary));
  }
  if (options.data.longest > config.max_positions) {
    throw UserError(fmt::format("data.longest = {}: the model in {} has {} positions", options.data.longest, folder,
                                config.max_positions));
  }
}

// Nothing when it was interrupted.
std::optional<Corpus> Read(const SftOptions& options, const SftRun& run, const ChatFormat& format, const char* split) {
  CorpusOptions corpus = options.data.corpus;
  corpus.split = split;
  const ReadHooks hooks{.stop = run.interrupted};
  std::optional<CorpusRead> read = ReadCorpus(corpus, format, options.data.longest, 0, hooks);
  if (!read) return std::nullopt;
  run.on_remark(fmt::format("{} data: {}", split, read->counts.ToText(options.data.longest)));
  return std::move(read->corpus);
}

PackingOptions Packing(const SftOptions& options) {
  return {.tokens = options.train.batch_tokens,
          .longest = options.data.longest,
          .plan_weight = options.data.plan_weight,
          .code_weight = options.data.code_weight,
          .seed = options.train.seed};
}

// This rank's part of the first batches.
std::vector<DeviceBatch> HeldOut(const Corpus& corpus, const SftOptions& options, const Ranks& ranks, bool on_gpu) {
  Packer packer(corpus, Packing(options));
  packer.BeginEpoch(0);
  std::vector<DeviceBatch> mine;
  for (int64_t i = ranks.rank(); i < std::min(packer.batches(), options.eval.batches); i += ranks.size())
    mine.push_back(OnHost(packer.Make(i), on_gpu));
  return mine;
}

// Dense FLOP/s of all ranks' GPUs. Hopper's own figure (989 TFLOP/s in bf16) is of a clock below the highest.
double PeakFlops(const SftOptions& options, const Ranks& ranks, bool on_gpu) {
  if (!on_gpu) return 0;
  const cuda::DeviceInfo& info = Gpu::Current()->info();
  const bool fp32 = options.train.dtype == "fp32";
  double peak = cuda::FlopsPerClockPerSm(info.capability, fp32 ? Dtype::kFloat32 : Dtype::kBFloat16) *
                info.sm_count * info.sm_clock_hz;
  if (info.capability == 90) peak = std::min(peak, fp32 ? 494.7e12 : 989.4e12);
  return peak * ranks.size();
}

HostState FirstState(const ModelConfig& config, const fs::path& folder) {
  HostState state(config);
  const DecoderWeights start = LoadDecoder(folder, at::kFloat, at::kCPU);
  const auto to = state.master.weights.Named();
  for (const auto& [name, tensor] : start.Named()) to.at(name).copy_(tensor);
  return state;
}

// A run that goes on must be the one that was begun.
void CheckSame(const RunPosition& was, const nlohmann::ordered_json& identity, const std::string& corpus_sha256,
               const fs::path& checkpoint) {
  std::vector<std::string> differences = Differences(was.identity, identity);
  if (was.corpus_sha256 != corpus_sha256) differences.push_back("the data is other");
  if (differences.empty()) return;
  throw UserError(fmt::format("{} is a checkpoint of another run: {}; choose another --out, or use the "
                              "configuration that it was begun with",
                              checkpoint.string(), fmt::join(differences, "; ")));
}

// The model as it ships: bf16 weights, with all that asks it.
void WriteFinal(const SftOptions& options, const SftRun& run, const fs::path& model_files, const DecoderWeights& weights) {
  const fs::path folder = run.out / "final", partial = run.out / "final.partial";
  if (Exists(folder)) return;
  std::error_code ignored;
  fs::remove_all(partial, ignored);
  const auto shard = options.save.max_shard_mib > 0 ? static_cast<uint64_t>(options.save.max_shard_mib) << 20
                                                    : kShardBytes;
  SaveModel(partial, weights, at::kBFloat16, shard);
  CopyModelFiles(model_files, partial);
  PublishFolder(partial, folder);
}

// The position that the run goes on from, and what the optimizer has then.
std::pair<RunPosition, HostState> Begin(const SftOptions& options, const SftRun& run, const ModelConfig& config,
                                        const fs::path& model, const Corpus& corpus,
                                        const std::optional<fs::path>& checkpoint) {
  const nlohmann::ordered_json identity = Identity(options);
  const std::string sha256 = corpus.sha256();
  if (!checkpoint) {
    return {RunPosition{.total = options.train.steps,
                        .identity = identity,
                        .corpus_sha256 = sha256,
                        .versions = run.versions},
            FirstState(config, model)};
  }
  HostState state(config);
  RunPosition position = LoadCheckpoint(*checkpoint, &state);
  CheckSame(position, identity, sha256, *checkpoint);
  run.on_remark(fmt::format("going on from {}", checkpoint->string()));
  position.versions = run.versions;
  return {std::move(position), std::move(state)};
}

}  // namespace

nlohmann::ordered_json ToJson(const SftSummary& s) {
  const char* ends[] = {"finished", "stopped", "interrupted"};
  nlohmann::ordered_json json = {{"end", ends[static_cast<int>(s.end)]},
                                 {"steps", s.step},
                                 {"total", s.total},
                                 {"tokens", s.tokens},
                                 {"seconds", s.seconds},
                                 {"tokens_per_second", s.tokens_per_second},
                                 {"mfu", s.mfu},
                                 {"loss", s.loss}};
  if (!std::isnan(s.held_out_loss)) json["held_out_loss"] = s.held_out_loss;
  if (!std::isnan(s.pass_at_1)) json["pass_at_1"] = s.pass_at_1;
  json["model"] = s.model;
  return json;
}

SftSummary RunSft(const SftOptions& options, const SftRun& run) {
  if (options.eval.programs > 0 && !run.exam)
    throw UserError("eval.programs: this command has nobody who judges answers; set it to 0");
  const bool on_gpu = run.device == "cuda";
  const at::Device device = on_gpu ? Gpu::Current()->device() : at::Device(at::kCPU);
  const std::unique_ptr<Ranks> ranks = JoinRanks(run.place, device);
  if (options.train.accumulation % ranks->size() != 0) {
    throw UserError(fmt::format("train.accumulation = {} passes a step cannot be shared by {} ranks: it must be a "
                                "multiple", options.train.accumulation, ranks->size()));
  }
  // Rank 0 writes. The others read what it has made ready.
  UniqueFd lock;
  std::optional<Checkpoints> checkpoints;
  if (ranks->rank() == 0) {
    lock = LockFolder(run.out);
    checkpoints.emplace(run.out / "checkpoints", options.save.keep);
  }
  const SftSummary interrupted{.end = SftEnd::kInterrupted, .held_out_loss = NAN, .pass_at_1 = NAN};
  const fs::path model = StartFolder(options, run, ranks.get());
  if (run.interrupted() && !Exists(model)) return interrupted;
  const ModelConfig config = LoadModelConfig(model / "config.json");
  const ChatFormat format = LoadChatFormat(model);
  CheckFits(options, config, format, model.string());
  const std::optional<Corpus> corpus = Read(options, run, format, "train");
  if (!corpus) return interrupted;
  Packer packer(*corpus, Packing(options));
  LoopParts parts{.options = &options,
                  .run = &run,
                  .ranks = ranks.get(),
                  .packer = &packer,
                  .checkpoints = checkpoints ? &*checkpoints : nullptr,
                  .model_files = model,
                  .peak_flops = PeakFlops(options, *ranks, on_gpu)};
  if (options.eval.batches > 0) {
    const std::optional<Corpus> test = Read(options, run, format, "test");
    if (!test) return interrupted;
    parts.holds_out = test->size() > 0;
    if (parts.holds_out) parts.held_out = HeldOut(*test, options, *ranks, on_gpu);
  }
  auto [position, state] =
      Begin(options, run, config, model, *corpus, LatestCheckpoint(run.out / "checkpoints"));
  if (options.train.epochs > 0)
    position.total = std::max<int64_t>(1, CountBatches(&packer, options.train.epochs) / options.train.accumulation);
  Trainer trainer(config, options.train,
                  {.tokens = options.train.batch_tokens,
                   .most_documents = packer.options().most_documents,
                   .longest = options.data.longest,
                   .checkpointing = options.train.checkpointing},
                  device, ranks.get());
  trainer.Restore(state);
  state = HostState();
  parts.trainer = &trainer;
  SftSummary summary = SftLoop(parts, std::move(position)).Run();
  if (summary.end == SftEnd::kFinished && ranks->rank() == 0) {
    WriteFinal(options, run, model, trainer.weights());
    summary.model = (run.out / "final").string();
    WriteFileAtomic(run.out / "summary.json", ToJson(summary).dump(2) + "\n");
  }
  ranks->FollowFirst();
  return summary;
}

}  // namespace tritogen::train
