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
#include "device/device_errors.h"
#include "device/gpu.h"
#include "model/model_folder.h"
#include "train/run_products.h"
#include "train/sft_loop.h"
#include "train/start.h"

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
    throw UserError(
        fmt::format("another run works in {}; wait for it, or choose another --out", folder.string()));
  return lock;
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

// A run that goes on must be the one that was begun.
void CheckSame(const RunPosition& was, const nlohmann::ordered_json& identity,
               const std::string& corpus_sha256, const fs::path& checkpoint) {
  std::vector<std::string> differences = Differences(was.identity, identity);
  if (was.corpus_sha256 != corpus_sha256) differences.push_back("the data is other");
  if (differences.empty()) return;
  throw UserError(
      fmt::format("{} is a checkpoint of another run: {}; choose another --out, or use the "
                  "configuration that it was begun with",
                  checkpoint.string(), fmt::join(differences, "; ")));
}

// A run that begins must not find another one's result, which would be taken for its own.
void RefuseResultOfAnother(const fs::path& out) {
  if (LatestCheckpoint(out / "checkpoints") || !Exists(out / "final")) return;
  throw UserError(
      fmt::format("{} is the result of another run, whose checkpoints are gone; remove it, or choose another "
                  "--out",
                  (out / "final").string()));
}

// The model as it ships: bf16 weights, with all that asks it.
void WriteFinal(const SftOptions& options, const SftRun& run, const fs::path& model_files,
                const DecoderWeights& weights) {
  const fs::path folder = run.out / "final", partial = run.out / "final.partial";
  if (Exists(folder)) return;  // this run's: another's was refused
  std::error_code ignored;
  fs::remove_all(partial, ignored);
  const auto shard =
      options.save.max_shard_mib > 0 ? static_cast<uint64_t>(options.save.max_shard_mib) << 20 : kShardBytes;
  SaveModel(partial, weights, at::kBFloat16, shard);
  CopyModelFiles(model_files, partial);
  PublishFolder(partial, folder);
}

// The position that the run goes on from, and what the optimizer has then.
std::pair<RunPosition, HostState> Begin(const SftOptions& options, const SftRun& run, const RunData& data) {
  const std::optional<fs::path> checkpoint = LatestCheckpoint(run.out / "checkpoints");
  const nlohmann::ordered_json identity = Identity(options);
  const std::string sha256 = data.corpus.sha256();
  if (!checkpoint) {
    return {RunPosition{.total = options.train.steps,
                        .identity = identity,
                        .corpus_sha256 = sha256,
                        .versions = run.versions},
            FirstState(data.config, data.model)};
  }
  HostState state(data.config);
  RunPosition position = LoadCheckpoint(*checkpoint, &state);
  CheckSame(position, identity, sha256, *checkpoint);
  run.on_remark(fmt::format("going on from {}", checkpoint->string()));
  position.versions = run.versions;
  return {std::move(position), std::move(state)};
}

SftSummary Run(const SftOptions& options, const SftRun& run) {
  if (options.eval.programs > 0 && !run.exam)
    throw UserError("eval.programs: this command has nobody who judges answers; set it to 0");
  const bool on_gpu = run.device == "cuda";
  const at::Device device = on_gpu ? Gpu::Current()->device() : at::Device(at::kCPU);
  const std::unique_ptr<Ranks> ranks = JoinRanks(run.place, device);
  if (options.train.accumulation % ranks->size() != 0) {
    throw UserError(
        fmt::format("train.accumulation = {} passes a step cannot be shared by {} ranks: it must be a "
                    "multiple",
                    options.train.accumulation, ranks->size()));
  }
  // Rank 0 writes. The others read what it has made ready.
  UniqueFd lock;
  std::optional<Checkpoints> checkpoints;
  if (ranks->rank() == 0) {
    lock = LockFolder(run.out);
    RefuseResultOfAnother(run.out);
    checkpoints.emplace(run.out / "checkpoints", options.save.keep);
  }
  const std::optional<RunData> data = ReadRunData(options, run, ranks.get());
  if (!data) return {.end = SftEnd::kInterrupted, .held_out_loss = NAN, .pass_at_1 = NAN};
  Packer packer(data->corpus, PackingOf(options));
  auto [position, state] = Begin(options, run, *data);
  if (options.train.epochs > 0)
    position.total =
        std::max<int64_t>(1, CountBatches(&packer, options.train.epochs) / options.train.accumulation);
  Trainer trainer(data->config, options.train,
                  {.tokens = options.train.batch_tokens,
                   .most_documents = packer.options().most_documents,
                   .longest = options.data.longest,
                   .checkpointing = options.train.checkpointing},
                  device, ranks.get());
  SetProducts(options, run, ranks.get(), &trainer, &position.products);
  trainer.Restore(state);
  state = HostState();
  const LoopParts parts{.options = &options,
                        .run = &run,
                        .ranks = ranks.get(),
                        .trainer = &trainer,
                        .packer = &packer,
                        .held_out = data->held_out,
                        .checkpoints = checkpoints ? &*checkpoints : nullptr,
                        .model_files = data->model,
                        .peak_flops = PeakFlops(options, *ranks, on_gpu)};
  SftSummary summary = SftLoop(parts, std::move(position)).Run();
  if (summary.end == SftEnd::kFinished && ranks->rank() == 0) {
    WriteFinal(options, run, data->model, trainer.weights());
    summary.model = (run.out / "final").string();
    WriteFileAtomic(run.out / "summary.json", ToJson(summary).dump(2) + "\n");
  }
  ranks->FollowFirst();
  ranks->Leave();
  return summary;
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
  return NeedingDeviceMemory(
      "training",
      "; train.batch_tokens and train.checkpointing say how much a pass takes; the last checkpoint "
      "is as it was",
      [&] { return Run(options, run); });
}

}  // namespace tritogen::train
