#include "train/options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/toml.h"

namespace tritogen::train {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

void DescribeModel(config::Fields* f, ModelOptions* o) {
  f->Text("from", &o->from);
  f->Section("new", [o](config::Fields* g) { Describe(g, &o->fresh); });
}

void DescribeData(config::Fields* f, DataOptions* o) {
  Describe(f, &o->corpus);
  if (o->corpus.split != "train")
    f->Fail("split", "what is learned is the train side; the other one is for tests");
  f->Int("longest", &o->longest, 2, 1 << 20);
  f->Double("plan_weight", &o->plan_weight, 0, 1000);
  f->Double("code_weight", &o->code_weight, 0, 1000);
  if (o->plan_weight + o->code_weight == 0)
    f->Fail("plan_weight", "plan_weight and code_weight are both 0: there is nothing to learn");
}

void DescribeTrain(config::Fields* f, TrainOptions* o) {
  static const std::vector<std::string> kShapes{"wsd", "cosine"}, kDtypes{"bf16", "fp32"};
  f->Int("batch_tokens", &o->batch_tokens, 16, int64_t{1} << 24);
  f->Int("accumulation", &o->accumulation, 1, 1 << 16);
  f->Int("epochs", &o->epochs, 0, 1'000'000);
  f->Int("steps", &o->steps, 0, kMost);
  f->Double("minutes", &o->minutes, 0, 1e6);
  f->Double("lr", &o->schedule.lr, 0, 1e30);
  f->Double("min_lr", &o->schedule.min_lr, 0, 1e30);
  f->Int("warmup", &o->schedule.warmup, 0, kMost);
  f->Choice("schedule", &o->schedule.shape, kShapes);
  f->Double("decay_share", &o->schedule.decay_share, 0, 1);
  f->Double("beta1", &o->beta1, 0, 0.999999);
  f->Double("beta2", &o->beta2, 0, 0.999999);
  f->Double("epsilon", &o->epsilon, 0, 1);
  f->Double("weight_decay", &o->weight_decay, 0, 100);
  f->Double("clip", &o->clip, 0, 1e30);
  f->Choice("dtype", &o->dtype, kDtypes);
  f->Bool("checkpointing", &o->checkpointing);
  f->Bool("plain", &o->plain);
  f->Bool("choose_products", &o->choose_products);
  f->Int("seed", &o->seed, 0, int64_t{1} << 53);
  if ((o->epochs > 0) + (o->steps > 0) + (o->minutes > 0) != 1)
    f->Fail("steps", "how long? Give one of epochs, steps and minutes");
  if (o->schedule.min_lr > o->schedule.lr)
    f->Fail("min_lr",
            fmt::format("{} is more than lr = {}, the highest rate", o->schedule.min_lr, o->schedule.lr));
  if (o->minutes > 0 && o->schedule.shape != "wsd")
    f->Fail("schedule",
            "with minutes the number of steps is known only after some of them, and cosine needs it from "
            "the first one: give steps, or schedule = \"wsd\"");
}

}  // namespace

void Describe(config::Fields* f, SftOptions* o) {
  f->Text("out", &o->out);
  f->Section("model", [o](config::Fields* g) { DescribeModel(g, &o->model); });
  f->Section("data", [o](config::Fields* g) { DescribeData(g, &o->data); });
  f->Section("train", [o](config::Fields* g) { DescribeTrain(g, &o->train); });
  f->Section("eval", [o](config::Fields* g) {
    g->Int("every", &o->eval.every, 0, kMost);
    g->Int("batches", &o->eval.batches, 0, 1 << 20);
    g->Int("programs", &o->eval.programs, 0, 1 << 20);
    g->Text("config", &o->eval.config);
  });
  f->Section("save", [o](config::Fields* g) {
    g->Int("every", &o->save.every, 0, kMost);
    g->Double("minutes", &o->save.minutes, 0, 1e6);
    g->Int("keep", &o->save.keep, 1, 1000);
    g->Int("max_shard_mib", &o->save.max_shard_mib, 0, 1 << 20);
  });
  f->Section("log", [o](config::Fields* g) {
    g->Int("every", &o->log.every, 1, kMost);
    g->Bool("tensorboard", &o->log.tensorboard);
  });
  if (o->data.longest > o->train.batch_tokens)
    f->Fail("data",
            fmt::format("longest: an example of {} tokens does not fit a pass of train.batch_tokens = {}",
                        o->data.longest, o->train.batch_tokens));
}

SftOptions ReadSftOptions(std::string_view text, const std::string& file) {
  SftOptions options;
  config::ReadToml(text, file, [&](config::Fields* fields) { Describe(fields, &options); });
  return options;
}

void CheckOptions(SftOptions options) {
  config::WriteJson([&](config::Fields* fields) { Describe(fields, &options); });
}

nlohmann::ordered_json Identity(SftOptions options) {
  nlohmann::ordered_json identity =
      config::WriteJson([&](config::Fields* fields) { Describe(fields, &options); });
  for (const char* key : {"out", "eval", "save", "log"}) identity.erase(key);
  identity["train"].erase("choose_products");
  if (!options.model.from.empty()) identity["model"].erase("new");
  for (const char* key : {"data", "wrong"}) identity["data"].erase(key);  // what is in them counts
  return identity;
}

std::vector<std::string> Differences(const nlohmann::ordered_json& was, const nlohmann::ordered_json& is) {
  std::vector<std::string> differences;
  const nlohmann::ordered_json old = was.flatten(), now = is.flatten();
  auto name = [](std::string path) {  // "/train/lr"
    path.erase(0, 1);
    for (char& c : path) c = c == '/' ? '.' : c;
    return path;
  };
  for (const auto& [path, value] : now.items()) {
    if (!old.contains(path))
      differences.push_back(fmt::format("{} is {} and was not there", name(path), value.dump()));
    else if (old[path] != value)
      differences.push_back(fmt::format("{} was {} and is {}", name(path), old[path].dump(), value.dump()));
  }
  for (const auto& [path, value] : old.items()) {
    if (!now.contains(path))
      differences.push_back(fmt::format("{} was {} and is not there", name(path), value.dump()));
  }
  return differences;
}

}  // namespace tritogen::train
