// bench engine: how fast the engine generates with random weights of public shapes.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/splitmix.h"
#include "cli/bench_shapes.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/model_session.h"
#include "cli/numbers.h"
#include "cli/opening_notice.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "device/gpu.h"
#include "engine/engine.h"
#include "model/weights.h"
#include "runner/gpu_runner.h"
#include "runner/open_gpu.h"
#include "runner/tensor_parallel.h"

namespace tritogen {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string shape = "24m", out, tokens, dtype = "bfloat16", device = "cuda";
  int32_t sequences = 256, prompt = 512, answer = 512, group = 1, slots = 0, prefill_tokens = 8192,
          repeat = 2;
  RankOptions ranks;
  bool batch_invariant = false, no_graphs = false, no_overlap = false, no_sharing = false;
  int32_t fused_rows = GpuRunnerOptions().fused_rows;
  double temperature = 1;
};

double Seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// When the tokens of one sequence came.
struct Trace {
  std::vector<Clock::time_point> tokens;
  std::vector<TokenId> text;
};

// What the engine's thread writes: also to those that a request that was refused has left behind.
struct Traces {
  std::mutex mutex;
  std::condition_variable all_done;
  std::vector<Trace> of_sequences;
  int32_t open = 0;
  std::string error;

  void Add(int32_t sequence, const Chunk& chunk) {
    const auto now = Clock::now();
    Trace& trace = of_sequences[sequence];
    trace.tokens.insert(trace.tokens.end(), chunk.samples.size(), now);
    for (const Sample& sample : chunk.samples) trace.text.push_back(sample.chosen.token);
    if (!chunk.finish) return;
    const std::scoped_lock lock(mutex);
    if (*chunk.finish == FinishReason::kError) error = chunk.error;
    if (--open == 0) all_done.notify_one();
  }
};

// Sends all requests at once and waits for their ends.
std::vector<Trace> RunRequests(Engine& engine, const BenchOptions& o) {
  const auto traces = std::make_shared<Traces>();
  const int32_t requests = o.sequences / o.group;
  traces->of_sequences.resize(o.sequences);
  traces->open = o.sequences;
  SplitMix random(1);
  for (int32_t r = 0; r < requests; ++r) {
    Request request;
    for (int32_t i = 0; i < o.prompt; ++i) {
      request.prompt.push_back(static_cast<TokenId>(random.Next() % engine.limits().vocabulary));
    }
    request.n = o.group;
    request.options.max_tokens = o.answer;
    request.options.sampling.temperature = static_cast<float>(o.temperature);
    request.options.sampling.seed = random.Next();
    engine.Submit(std::move(request), [traces, first = r * o.group](const Chunk& chunk) {
      traces->Add(first + chunk.index, chunk);
    });
  }
  std::unique_lock lock(traces->mutex);
  traces->all_done.wait(lock, [&] { return traces->open == 0; });
  if (!traces->error.empty()) throw InternalError(traces->error);
  return std::move(traces->of_sequences);
}

nlohmann::json Rates(const std::vector<Trace>& traces, const BenchOptions& o, Clock::time_point start) {
  Clock::time_point first_of_last = start, end_of_first = Clock::time_point::max(), end = start;
  std::vector<double> first, between;
  for (const Trace& trace : traces) {
    first_of_last = std::max(first_of_last, trace.tokens.front());
    end_of_first = std::min(end_of_first, trace.tokens.back());
    end = std::max(end, trace.tokens.back());
    first.push_back(Seconds(start, trace.tokens.front()));
    for (size_t i = 1; i < trace.tokens.size(); ++i) {
      between.push_back(Seconds(trace.tokens[i - 1], trace.tokens[i]));
    }
  }
  int64_t alone = 0;  // while all sequences decode and none prefills
  for (const Trace& trace : traces) {
    alone += std::count_if(trace.tokens.begin(), trace.tokens.end(),
                           [&](auto at) { return at > first_of_last && at <= end_of_first; });
  }
  const double all = static_cast<double>(o.sequences) * o.answer;
  nlohmann::json result = {
      {"seconds", Seconds(start, end)},
      {"tokens_per_second", all / Seconds(start, end)},
      {"first_token_ms", {1e3 * Percentile(first, 0.5), 1e3 * Percentile(first, 0.99)}},
      {"between_tokens_ms", {1e3 * Percentile(between, 0.5), 1e3 * Percentile(between, 0.99)}}};
  if (end_of_first > first_of_last) {
    result["decode_tokens_per_second"] = static_cast<double>(alone) / Seconds(first_of_last, end_of_first);
    result["decode_step_ms"] =
        1e3 * Seconds(first_of_last, end_of_first) * o.sequences / static_cast<double>(alone);
  }
  return result;
}

// Each tensor by a seed of its own, so that models are equal however many ranks share them.
void FillRandom(const ModelConfig& config, const ModelPart& part, DecoderWeights* weights) {
  const at::NoGradGuard no_gradients;
  at::Generator generator = at::globalContext().defaultGenerator(weights->embedding.device());
  std::map<std::string, std::pair<uint64_t, std::vector<int64_t>>> shapes;
  for (ExpectedTensor& tensor : ExpectedTensors(config))
    shapes.emplace(tensor.name, std::pair(shapes.size() + 1, std::move(tensor.shape)));
  CopyPart(
      config, part,
      [&](const std::string& name) {
        const auto& [seed, shape] = shapes.at(name);
        const at::Tensor whole = at::empty(shape, weights->embedding.options());
        generator.set_current_seed(seed);
        if (shape.size() == 2) return whole.normal_(0, 0.02, generator);
        return whole.fill_(name.ends_with("bias") ? 0 : 1);
      },
      weights);
}

std::unique_ptr<Runner> MakeRunner(const BenchOptions& o, const ModelConfig& config,
                                   const Environment& environment) {
  TensorParallelOptions options{.ranks = o.ranks, .cuda = o.device == "cuda"};
  options.on_lost = EndForLostRank;
  options.compiler = {.python = environment.python,
                      .worker_folder = environment.root + "/worker",
                      .cache_folder = CacheFolder() / "kernels"};
  GpuRunnerOptions& runner = options.runner;
  runner.slots = o.slots > 0 ? o.slots : o.sequences;
  runner.prefill_tokens = o.prefill_tokens;
  runner.context = o.prompt + o.answer + 1;
  runner.batch_invariant = o.batch_invariant;
  runner.graphs = !o.no_graphs;
  if (o.no_sharing) runner.share_prefixes = SharePrefixes::kNever;
  runner.fused_rows = o.fused_rows;
  if (!options.cuda) runner.cache_bytes = kCacheBytesOnCpus;
  const at::ScalarType dtype = o.dtype == "float32" ? at::kFloat : at::kBFloat16;
  options.load = [=](const ModelPart& part, at::Device device) {
    DecoderWeights weights = MakePart(config, part, dtype, device);
    FillRandom(config, part, &weights);
    if (device.is_cuda()) Gpu::Current()->TrimMemory();
    return weights;
  };
  OpeningNotice notice;
  runner.on_opening = [&notice](const Opening& at) { notice.Set(at); };
  CheckDivides(config, o.ranks.size);
  if (o.ranks.size > 1) return MakeTensorParallelRunner(options);
  runner.on_opening({"opening the GPU"});
  if (options.cuda) OpenGpu(options.compiler);
  const at::Device device = options.cuda ? Gpu::Current()->device() : at::Device(at::kCPU);
  runner.on_opening({"making the weights"});
  return MakeGpuRunner(std::make_shared<const DecoderWeights>(options.load({}, device)), runner);
}

// What is measured, and the least time that memory allows: weights, and keys and values once, those of a
// prompt once for all of its answers.
nlohmann::json Describe(const BenchOptions& o, const ModelConfig& config) {
  const int64_t parameters = Parameters(config);
  const double element = o.dtype == "float32" ? 4 : 2;
  const double step_bytes = element * static_cast<double>(parameters) -
                            (config.tied_embeddings ? 0 : element * config.vocabulary * config.hidden) +
                            2 * element * config.layers * config.kv_heads * config.head_dim * o.sequences *
                                (o.prompt / static_cast<double>(o.group) + o.answer / 2.0);
  nlohmann::json report = {{"shape", o.shape},
                           {"dtype", o.dtype},
                           {"parameters", parameters},
                           {"gpus", o.ranks.size},
                           {"sequences", o.sequences},
                           {"prompt", o.prompt},
                           {"answer", o.answer},
                           {"group", o.group},
                           {"graphs", !o.no_graphs},
                           {"sharing", !o.no_sharing},
                           {"bytes_of_a_step", step_bytes}};
  const Gpu* const gpu = Gpu::Current();
  report["device"] = gpu != nullptr ? gpu->info().name : "the tile machine";
  if (gpu == nullptr) return report;
  const double bandwidth = gpu->info().memory_bandwidth * o.ranks.size;
  report["memory_bandwidth"] = bandwidth;
  report["limit_tokens_per_second"] = o.sequences / (step_bytes / bandwidth);
  return report;
}

int RunEngine(const BenchOptions& o, const Environment& environment) {
  const ModelConfig config = BenchShape(o.shape);
  EngineOptions options;
  options.overlap = !o.no_overlap;
  options.prefix_cache = false;  // the runs below repeat their prompts
  Engine engine(MakeRunner(o, config, environment), nullptr, options);
  nlohmann::json report = Describe(o, config), texts;
  for (int i = 0; i < o.repeat; ++i) {  // the first one compiles kernels and captures graphs
    const auto start = Clock::now();
    const std::vector<Trace> traces = RunRequests(engine, o);
    report["runs"].push_back(Rates(traces, o, start));
    fmt::print("{}\n", report["runs"].back().dump());
    std::fflush(stdout);
    if (i > 0) continue;
    for (const Trace& trace : traces) texts.push_back(trace.text);
  }
  if (!o.tokens.empty()) WriteFileAtomic(o.tokens, texts.dump());
  if (!o.out.empty()) WriteFileAtomic(o.out, report.dump(1));
  fmt::print("{}\n", report.dump());
  std::fflush(stdout);
  return 0;
}

}  // namespace

int RunBench(int argc, char** argv, const Environment& environment) {
  CLI::App app("Measures parts of Tritogen on this machine.", "./tritogen bench");
  app.require_subcommand(1);
  BenchOptions o;
  CLI::App* engine = app.add_subcommand("engine", "tokens per second with random weights of a shape");
  engine->add_option("--shape", o.shape, "of the model")->check(CLI::IsMember(BenchShapeNames()));
  engine->add_option("--sequences", o.sequences, "answers in all")->check(kPositive);
  engine->add_option("--prompt", o.prompt, "tokens of a prompt")->check(kPositive);
  engine->add_option("--answer", o.answer, "tokens of an answer")->check(kPositive);
  engine->add_option("--group", o.group, "answers to one prompt")->check(kPositive);
  engine->add_option("--slots", o.slots, "sequences at once (default: all)");
  engine->add_option("--prefill-tokens", o.prefill_tokens, "prompt tokens of a step")->check(kPositive);
  engine->add_option("--repeat", o.repeat, "runs; the first one warms up")->check(kPositive);
  engine->add_option("--dtype", o.dtype, "of weights")->check(CLI::IsMember({"bfloat16", "float32"}));
  engine
      ->add_option("--device", o.device,
                   "cpu: the tile machine stands for each GPU, to try the command itself")
      ->check(CLI::IsMember({"cuda", "cpu"}));
  AddRankOptions(engine, &o.ranks);
  engine->add_option("--fused-rows", o.fused_rows, "from so many rows on, products take norms along");
  engine->add_option("--temperature", o.temperature)->check(kNonNegative);
  engine->add_flag("--batch-invariant", o.batch_invariant);
  engine->add_flag("--no-graphs", o.no_graphs, "launch kernel by kernel");
  engine->add_flag("--no-sharing", o.no_sharing, "each answer reads the prompt's keys and values for itself");
  engine->add_flag("--no-overlap", o.no_overlap, "plan a step when the one before is done");
  engine->add_option("--out", o.out, "JSON file");
  engine->add_option("--tokens", o.tokens, "JSON file for the first run's tokens: a list for each answer");
  if (const auto code = Parse(&app, argc, argv)) return *code;
  if (o.sequences % o.group != 0) throw UserError("--sequences must be a multiple of --group");
  for (const std::string& path : {o.out, o.tokens}) RequireWritable(path);
  return RunEngine(o, environment);
}

}  // namespace tritogen
