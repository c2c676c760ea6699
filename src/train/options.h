// What `sft` is told: docs/training.md explains every key.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"
#include "train/new_policy.h"
#include "train/schedule.h"

namespace tritogen::train {

struct ModelOptions {
  std::string from;     // folder of a model; empty: a new one
  PolicyOptions fresh;  // [model.new]
};

struct DataOptions {
  CorpusOptions corpus;                     // its keys stand in [data], too
  int64_t longest = 2048;                   // tokens of an example; longer ones are left out, and counted
  double plan_weight = 1, code_weight = 1;  // of a token's loss
};

struct TrainOptions {
  int64_t batch_tokens = 65536;  // of a pass
  int64_t accumulation = 1;      // passes of a step, of all ranks together
  // How long: one of them.
  int64_t epochs = 0, steps = 0;
  double minutes = 0;
  ScheduleOptions schedule;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1, clip = 1;
  std::string dtype = "bf16";    // or "fp32": of the weights and of what is computed from them
  bool checkpointing = false;    // of activations
  bool plain = false;            // by ATen's operators; CPUs always
  bool choose_products = false;  // by trial, when a run begins
  uint64_t seed = 1;
};

struct EvalOptions {
  int64_t every = 0;     // steps; 0: at the end only
  int64_t batches = 8;   // of the sets' test side, at most; 0: none
  int64_t programs = 0;  // held-out programs that are answered and judged: pass@1
  std::string config;    // of the data set whose test side they are of; empty: configs/data.toml
};

struct SaveOptions {
  int64_t every = 0;          // steps
  double minutes = 5;         // 0: only by steps
  int64_t keep = 2;           // checkpoints
  int64_t max_shard_mib = 0;  // of the final weights' files; 0: 5 GiB
};

struct LogOptions {
  int64_t every = 10;  // steps
  bool tensorboard = true;
};

struct SftOptions {
  std::string out;
  ModelOptions model;
  DataOptions data;
  TrainOptions train;
  EvalOptions eval;
  SaveOptions save;
  LogOptions log;
};

void Describe(config::Fields* fields, SftOptions* options);

// Of a TOML file. Throws UserError for what is wrong in it.
SftOptions ReadSftOptions(std::string_view text, const std::string& file);

// Throws UserError where options do not fit each other: for those that were changed after they were read.
void CheckOptions(SftOptions options);

// What decides the weights that come out, with every default, but for the data's contents, the machine and
// what its trials choose (that stands in checkpoints): equal exactly for runs that can go on from each
// other's checkpoints.
nlohmann::ordered_json Identity(SftOptions options);

// "train.lr was 0.001 and is 0.002", one for each difference.
std::vector<std::string> Differences(const nlohmann::ordered_json& was, const nlohmann::ordered_json& is);

}  // namespace tritogen::train
