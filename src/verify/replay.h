// Replays a Plan with real data: ATen steps through libtorch's boxed dispatcher, launches on the tile
// machine, or all of it on the GPU. Every tensor lives on the one device of the replay, whatever the program
// believed. One Replayer owns the tensors of one Plan; it is not thread-safe, several may run side by side on
// the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fp32_precision.h"
#include "plan/lifetimes.h"
#include "plan/plan.h"
#include "tile/tile.h"

namespace tritogen {

// Looks at what one ATen call is given, and gives it more; or at what it gives.
struct Probe {
  const AtenStep* step;  // of the Plan that is replayed
  TensorId tensor;       // an argument; or, `of_result`, the first result
  at::Tensor nudge;      // added to it, to an argument for this call alone; undefined: nothing is
  at::Tensor seen;       // it without that, as of the last run
  bool of_result = false;
};

struct ReplayOptions {
  bool on_gpu = false;                             // Gpu::Current(), which must be open
  Fp32Precision libraries = Fp32Precision::kIeee;  // GPU: what they may compute float32 products in
  // GPU: calls return with their work still on the stream. Await, or whoever waits next, hears of what goes
  // wrong there.
  bool queue_only = false;
  // Every floating tensor of the Plan in fp64: the expected values (reference Plans only).
  bool in_float64 = false;
  // fp64: where PyTorch leaves open in which order equal values come, later ones are made larger (1) or
  // smaller (-1) by what the recorded precision hardly sees; 0: they stay equal.
  int order_of_equals = 0;
  // fp64: what a call multiplies that was float32 (Float32Factors) is cut to TF32 where this allows it, with
  // a seed each time by other random shares (CutToTf32).
  Fp32Precision factors = Fp32Precision::kIeee;
  uint64_t tf32_seed = 0;
  // fp64: results of casts from float32 and float64 to float16 and bfloat16, where these do not hold them,
  // are moved by at most so many halves of a unit in their last place; by `cast_seed` and the seed of the
  // run.
  double moves_casts = 0;
  uint64_t cast_seed = 0;
  int threads = 1;
  bool check_memory = true;  // the tile machine's memory checker; on a GPU guard bands and poison
  bool blame_lanes = false;  // tile::LaunchOptions::blame_lanes
  uint64_t order_seed = 0;   // program order of launches; also what poison fresh memory gets
  int variant = 0;           // which variant of an autotuned launch, modulo their number
  double deadline_seconds = 60;
  int64_t memory_bytes = int64_t{8} << 30;  // live tensors may not exceed it
  std::vector<Probe>* probes = nullptr;     // outlives the Replayer
  // Memory that set-up made and that every call finds undefined: nothing may then read it, ATen calls
  // included, before it is written (kMemoryError).
  std::vector<TensorId> forgotten;
  // Memory that set-up made and that every call finds with other values than the call before: floats between
  // 1/2 and 2, large integers.
  std::vector<TensorId> redrawn;
  // Memory that nobody wrote, and lanes that a load leaves undefined, hold what a GPU might show there, not
  // the poison by which a program can tell that it is watched; programs start in the order of their numbers.
  bool leftovers = false;
};

// Why a replay ended. Maps one to one to an Outcome.
struct ReplayFailure {
  enum class Kind { kCompileError, kRuntimeError, kMemoryError, kTimeout, kInfraError } kind;
  std::string message;
  int line = 0;                      // in the program's file
  std::optional<tile::Fault> fault;  // kMemoryError, kTimeout
};

using TensorList = std::vector<at::Tensor>;

class Replayer {
 public:
  // The Plan must outlive the Replayer.
  Replayer(const Plan& plan, const ReplayOptions& options);
  ~Replayer();

  // Runs the generator (references): tensor leaves of plan.inputs in order, from `seed`. Also fills
  // init_inputs.
  std::optional<ReplayFailure> Generate(uint64_t seed, TensorList* inputs, TensorList* init_inputs);

  // Runs set-up: random initialisers draw from `seed` as torch.manual_seed(seed) would. `bindings`: state
  // name → values that replace the result of the step that made it (then set-up goes on from there, so that
  // packed copies follow). `warmup`: tensor leaves for warmup_inputs.
  std::optional<ReplayFailure> SetUp(uint64_t seed, const TensorList& init_inputs, const TensorList& warmup,
                                     const std::unordered_map<std::string, at::Tensor>& bindings);

  // The module's state after set-up, by name, not copied.
  std::map<std::string, at::Tensor> State() const;

  // The program may write memory that set-up made: it has steps that do, whatever they leave there. Known
  // after a Run.
  bool WritesState() const;
  // Memory that set-up made and that the last Run left with other contents: one tensor each.
  std::vector<TensorId> Changed() const;

  // One call: `inputs` are the tensor leaves of plan.inputs in order and are not modified unless the program
  // does so. The state after SetUp is restored first, so calls are independent. Outputs: tensor leaves of
  // plan.outputs in order.
  std::optional<ReplayFailure> Run(const TensorList& inputs, uint64_t seed, TensorList* outputs);

  bool queues() const;  // queue_only, on a GPU

  // With queue_only: waits for all that was queued, and says what was wrong with it.
  std::optional<ReplayFailure> Await();

  // GPU: puts one call on the stream and returns, for timing and for capture in a graph. The state is what
  // the last call left. RestoreState puts back what SetUp made, on the stream, too.
  std::optional<ReplayFailure> Queue(const TensorList& inputs, TensorList* outputs);
  void RestoreState();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen
