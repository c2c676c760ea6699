// Speed of training's passes and optimizer, and the fused pass's gradients against the plain one's on the
// device at hand. JSON lines: {"check": …}, {"speed": …}. --choose: products by trial of cuBLASLt's
// algorithms; --step-only: no times of a step's parts.
//   train_pass_bench --hidden 512 --layers 8 --heads 8 --kv-heads 4 --intermediate 1536 --vocabulary 4096
//                    --tokens 65536 --device cuda [--plain] [--all-learned] [--python PYTHON] [--root FOLDER]
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/splitmix.h"
#include "device/gpu.h"
#include "runner/open_gpu.h"
#include "train/batch_feed.h"
#include "train/flops.h"
#include "train/linear.h"
#include "train/optimizer.h"
#include "train/packed_attention.h"
#include "train/training_pass.h"

namespace tritogen::train {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr double kPeak = 989e12;  // FLOP/s of an H200 in bf16

struct Options {
  int64_t hidden = 512, layers = 8, heads = 8, kv_heads = 4, head_dim = 64, intermediate = 1536,
          vocabulary = 4096, tokens = 65536, shortest = 128, longest = 2048, most_documents = 0,
          logit_tokens = 0;
  bool plain = false, fused = false, checkpointing = false, untied = false, qwen2 = false, no_check = false,
       all_learned = false, choose = false, step_only = false;
  std::string device = "cpu", dtype = "bf16", python = "python3", root = TRITOGEN_SOURCE_DIR,
              cache = "/tmp/tritogen_kernels";
  double seconds = 3;
};

ModelConfig ConfigOf(const Options& o, int64_t layers) {
  ModelConfig c;
  c.family = o.qwen2 ? ModelFamily::kQwen2 : ModelFamily::kQwen3;
  c.vocabulary = o.vocabulary, c.hidden = o.hidden, c.intermediate = o.intermediate, c.layers = layers;
  c.heads = o.heads, c.kv_heads = o.kv_heads, c.head_dim = o.head_dim, c.max_positions = 32768;
  c.qk_norm = !o.qwen2, c.qkv_bias = o.qwen2, c.tied_embeddings = !o.untied;
  return c;
}

struct RandomBatch {
  DeviceBatch batch;
  double squared_lengths = 0;
  int64_t documents = 0;
};

// Documents of `shortest` to `longest` tokens, their second halves or all of them to be learned.
RandomBatch MakeBatch(const Options& o, int64_t tokens, int64_t longest, int64_t most_documents,
                      at::Device device) {
  SplitMix random(7);
  RandomBatch made;
  std::vector<int32_t> ids, targets, positions, starts = {0};
  std::vector<float> weights;
  while (static_cast<int64_t>(ids.size()) < tokens) {
    const int64_t shortest = std::min(o.shortest, longest), rest = tokens - static_cast<int64_t>(ids.size());
    const auto spread = static_cast<uint64_t>(longest - shortest + 1);
    const int64_t length = std::min(rest, shortest + static_cast<int64_t>(random.Below(spread)));
    for (int64_t i = 0; i < length; ++i) {
      const bool learns = (o.all_learned || i >= length / 2) && i + 1 < length;
      ids.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(o.vocabulary))));
      targets.push_back(learns ? static_cast<int32_t>(random.Below(static_cast<uint64_t>(o.vocabulary)))
                               : -1);
      weights.push_back(learns ? 1.0f : 0.0f);
      positions.push_back(static_cast<int32_t>(i));
    }
    starts.push_back(static_cast<int32_t>(ids.size()));
    made.squared_lengths += static_cast<double>(length) * static_cast<double>(length);
    ++made.documents;
  }
  while (static_cast<int64_t>(starts.size()) < most_documents + 1)
    starts.push_back(static_cast<int32_t>(tokens));
  made.batch = OnDevice(OnHost({ids, targets, weights, positions, starts}, /*page_locked=*/false), device);
  return made;
}

void Synchronize() {
  if (Gpu* gpu = Gpu::Current()) gpu->Synchronize(120);
}

// Milliseconds of a call, after one that does not count.
double Time(const Options& o, const std::function<void()>& call) {
  call();
  Synchronize();
  const auto start = Clock::now();
  int64_t calls = 0;
  double seconds = 0;
  do {
    call();
    if (++calls % 4 == 0 || Gpu::Current() == nullptr) Synchronize();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  } while (seconds < o.seconds);
  Synchronize();
  return 1e3 * std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls);
}

// Milliseconds until a call returns that begins with nothing left on the device: what the host needs to
// launch.
double HostTime(const std::function<void()>& call) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 8; ++i) {
    Synchronize();
    const auto start = Clock::now();
    call();
    least = std::min(least, 1e3 * std::chrono::duration<double>(Clock::now() - start).count());
  }
  Synchronize();
  return least;
}

struct Model {
  Model(const ModelConfig& config, at::ScalarType dtype, at::Device device)
      : weights(MakeFlatWeights(config, dtype, device)),
        gradients(MakeFlatWeights(config, at::kFloat, device)) {
    FillWeights(1, &weights.weights);
  }
  FlatWeights weights, gradients;
};

// The largest relative error of a tensor's gradient (2-norms), against the plain pass in float32.
json Errors(const Model& got, const Model& exact) {
  const auto named = exact.gradients.weights.Named();
  double worst = 0;
  std::string where;
  for (const auto& [name, tensor] : got.gradients.weights.Named()) {
    const at::Tensor reference = named.at(name);
    const double error = ((tensor - reference).norm() / reference.norm()).item<double>();
    if (!(error <= worst)) worst = error, where = name;
  }
  return {{"largest", worst}, {"of", where}};
}

void Check(const Options& o, at::ScalarType dtype, at::Device device) {
  const ModelConfig config = ConfigOf(o, std::min<int64_t>(o.layers, 2));
  const int64_t tokens = std::min<int64_t>(o.tokens, 700), longest = std::min<int64_t>(o.longest, 300);
  const DeviceBatch batch = MakeBatch(o, tokens, longest, 40, device).batch;
  const PassShape shape{tokens, 40, longest, o.checkpointing, o.logit_tokens};
  Model exact(config, at::kFloat, device), plain(config, dtype, device), fused(config, dtype, device);
  exact.weights.flat.copy_(plain.weights.flat);
  json out = {{"dtype", o.dtype}};
  const auto run = [&](const char* name, Model& model, bool by_kernels) {
    const auto pass = (by_kernels ? MakeFusedPass : MakePlainPass)(model.weights, model.gradients, shape);
    if (o.choose) pass->SetProducts(std::nullopt);
    out[name] = {{"loss", pass->LossAndGradients(batch, 0.01, /*add=*/true).item<double>()}};
    if (&model != &exact) out[name]["error"] = Errors(model, exact);
    if (!by_kernels) return;
    const at::Tensor once = model.gradients.flat.clone();
    pass->LossAndGradients(batch, 0.01, /*add=*/false);
    out[name]["same_twice"] = at::equal(once, model.gradients.flat);
  };
  run("exact", exact, false);
  run("plain", plain, false);
  run("fused", fused, true);
  std::cout << json{{"check", out}} << std::endl;
}

// The products of a step alone, through memory of the pass's shapes: what the rest is compared with.
double ProductsMs(const Options& o, const Model& model) {
  const ModelConfig& c = model.weights.weights.config;
  const at::TensorOptions options = model.weights.flat.options();
  const auto make = [&](int64_t n) { return at::zeros({o.tokens, n}, options); };
  const int64_t heads = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  const at::Tensor x = make(c.hidden), qkv = make(heads + 2 * kv), attended = make(heads),
                   gate_up = make(2 * c.intermediate), hidden = make(c.intermediate);
  const int64_t chunk = std::min<int64_t>(o.tokens, 8192);
  const at::Tensor logits = at::zeros({chunk, c.vocabulary}, options), some = x.narrow(0, 0, chunk);
  const auto product = [&](const at::Tensor& in, const at::Tensor& w, const at::Tensor& dw,
                           const at::Tensor& out) {
    Linear(in, w, {}, out);
    LinearToInput(out, w, in);
    LinearToWeights(out, in, dw, /*add=*/false);
  };
  return Time(o, [&] {
    for (size_t i = 0; i < model.weights.weights.layers.size(); ++i) {
      const LayerWeights &w = model.weights.weights.layers[i], &d = model.gradients.weights.layers[i];
      product(x, w.qkv, d.qkv, qkv);
      product(attended, w.attention_out, d.attention_out, x);
      product(x, w.gate_up, d.gate_up, gate_up);
      product(hidden, w.down, d.down, x);
    }
    for (int64_t from = 0; from < o.tokens; from += chunk)
      product(some, model.weights.weights.output, model.gradients.weights.output, logits);
  });
}

// Attention of one layer by our kernels, and by the one that ATen has (which needs the documents' number).
json AttentionMs(const Options& o, const ModelConfig& c, const RandomBatch& random, at::ScalarType dtype,
                 at::Device device) {
  const at::TensorOptions options = at::TensorOptions(dtype).device(device);
  const int64_t both = c.heads + c.kv_heads, n = o.tokens;
  const auto make = [&](int64_t heads) { return at::randn({n, heads * c.head_dim}, options); };
  PackedAttention attention(c, dtype, n, device);
  attention.Begin(random.batch.starts, random.batch.positions);
  const PackedAttention::Inputs in{make(both), make(both + c.kv_heads)};
  const at::Tensor out = make(c.heads), lse = at::empty({c.heads, n}, options.dtype(at::kFloat)),
                   d_out = make(c.heads), d_rotated = make(both), d_qkv = make(both + c.kv_heads);
  json result = {
      {"forward_ms", Time(o, [&] { attention.Forward(in, out, lse); })},
      {"backward_ms", Time(o, [&] { attention.Backward(in, out, lse, d_out, d_rotated, d_qkv); })}};
  if (!device.is_cuda() || dtype == at::kFloat) return result;
  const at::Tensor heads = in.rotated.view({n, both, c.head_dim});
  const at::Tensor q = heads.narrow(1, 0, c.heads), k = heads.narrow(1, c.heads, c.kv_heads);
  const at::Tensor v = in.qkv.view({n, both + c.kv_heads, c.head_dim}).narrow(1, both, c.kv_heads);
  const at::Tensor documents = random.batch.starts.narrow(0, 0, random.documents + 1);
  const auto flash = [&] {
    return at::_flash_attention_forward(q, k, v, documents, documents, o.longest, o.longest, 0.0, true,
                                        false);
  };
  const auto [o1, lse1, seed, unused, mask] = flash();
  const double error =
      ((o1.view({n, -1}) - out).to(at::kFloat).norm() / out.to(at::kFloat).norm()).item<double>();
  const at::Tensor attended = o1, sums = lse1, random_state = seed, none = unused;
  const at::Tensor d_attended = d_out.view_as(attended);
  result["flash_forward_ms"] = Time(o, [&] { flash(); });
  result["flash_backward_ms"] = Time(o, [&] {
    at::_flash_attention_backward(d_attended, q, k, v, attended, sums, documents, documents, o.longest,
                                  o.longest, 0.0, true, random_state, none);
  });
  result["difference_from_flash"] = error;
  return result;
}

void Speed(const Options& o, at::ScalarType dtype, at::Device device, bool plain) {
  const ModelConfig config = ConfigOf(o, o.layers);
  const int64_t most_documents = o.most_documents > 0 ? o.most_documents : o.tokens / 16;
  Model model(config, dtype, device);
  const RandomBatch random = MakeBatch(o, o.tokens, o.longest, most_documents, device);
  const PassShape shape{o.tokens, most_documents, o.longest, o.checkpointing, o.logit_tokens};
  const auto pass = (plain ? MakePlainPass : MakeFusedPass)(model.weights, model.gradients, shape);
  if (o.choose) pass->SetProducts(std::nullopt);
  AdamW adamw(model.weights, 0, model.weights.flat.numel(), {}, plain);
  const double scale = 2.0 / static_cast<double>(o.tokens);
  const auto both = [&] { pass->LossAndGradients(random.batch, scale, /*add=*/false); };
  const auto optimize = [&] {
    adamw.Step(model.gradients.flat, adamw.SquaredNorm(model.gradients.flat), 1e-4);
  };
  const auto whole = [&] { both(), optimize(); };
  const double step = Time(o, whole), host = device.is_cuda() ? HostTime(whole) : 0;
  const auto tokens = static_cast<double>(o.tokens),
             learned = static_cast<double>(random.batch.learned.numel());
  const StepFlops flops = TrainingFlops(config, {tokens, learned, random.squared_lengths}),
                  of_all = TrainingFlops(config, {tokens, tokens, random.squared_lengths});
  const auto share = [&](double computed) { return computed / (step / 1e3) / kPeak; };
  json out = {{"pass", plain ? "plain" : "fused"},
              {"parameters", model.weights.flat.numel()},
              {"tflop_per_step", flops.model() / 1e12},
              {"documents", random.documents},
              {"step_ms", step},
              {"host_ms", host},
              {"tokens_per_s", static_cast<double>(o.tokens) / step * 1e3},
              {"learned", random.batch.learned.numel()},
              {"mfu", share(flops.model())},
              {"mfu_causal", share(flops.causal())},
              {"mfu_as_if_all_were_learned", share(of_all.model())}};
  for (const auto& [product, choice] : pass->Products()) out["choices"][product] = choice;
  if (!o.step_only) {
    const double forward = Time(o, [&] { pass->Loss(random.batch); });
    out.update({{"forward_ms", forward},
                {"backward_ms", Time(o, both) - forward},
                {"optimizer_ms", Time(o, optimize)}});
  }
  if (!plain && !o.step_only) {
    out["products_ms"] = ProductsMs(o, model);
    out["attention_of_a_layer"] = AttentionMs(o, config, random, dtype, device);
  }
  std::cout << json{{"speed", out}} << std::endl;
}

void Run(const Options& o) {
  at::Device device = at::kCPU;
  if (o.device == "cuda") {
    OpenGpu({.python = o.python, .worker_folder = o.root + "/worker", .cache_folder = o.cache});
    device = Gpu::Current()->device();
  }
  const at::ScalarType dtype = o.dtype == "f32" ? at::kFloat : at::kBFloat16;
  if (!o.no_check) Check(o, dtype, device);
  if (o.fused || !o.plain) Speed(o, dtype, device, false);
  if (o.plain) Speed(o, dtype, device, true);
}

}  // namespace
}  // namespace tritogen::train

int main(int argc, char** argv) {
  tritogen::train::Options o;
  CLI::App app("Speed of training's passes");
  const std::pair<const char*, int64_t*> numbers[] = {{"--hidden", &o.hidden},
                                                      {"--layers", &o.layers},
                                                      {"--heads", &o.heads},
                                                      {"--kv-heads", &o.kv_heads},
                                                      {"--head-dim", &o.head_dim},
                                                      {"--intermediate", &o.intermediate},
                                                      {"--vocabulary", &o.vocabulary},
                                                      {"--tokens", &o.tokens},
                                                      {"--shortest", &o.shortest},
                                                      {"--longest", &o.longest},
                                                      {"--documents", &o.most_documents},
                                                      {"--logit-tokens", &o.logit_tokens}};
  for (const auto& [name, value] : numbers) app.add_option(name, *value);
  const std::pair<const char*, bool*> flags[] = {{"--plain", &o.plain},
                                                 {"--fused", &o.fused},
                                                 {"--checkpointing", &o.checkpointing},
                                                 {"--untied", &o.untied},
                                                 {"--qwen2", &o.qwen2},
                                                 {"--no-check", &o.no_check},
                                                 {"--all-learned", &o.all_learned},
                                                 {"--choose", &o.choose},
                                                 {"--step-only", &o.step_only}};
  for (const auto& [name, value] : flags) app.add_flag(name, *value);
  const std::pair<const char*, std::string*> texts[] = {{"--device", &o.device},
                                                        {"--dtype", &o.dtype},
                                                        {"--python", &o.python},
                                                        {"--root", &o.root},
                                                        {"--cache", &o.cache}};
  for (const auto& [name, value] : texts) app.add_option(name, *value);
  app.add_option("--seconds", o.seconds, "of each measurement");
  CLI11_PARSE(app, argc, argv);
  tritogen::train::Run(o);
  return 0;
}
