// Records one reference and replays it, for bench/check_references.py to compare with eager PyTorch:
//   replay_references FILE ENTRY SEED cuda|cpu SECONDS PYTHON WORKER_FOLDER
// Inputs and weights come from a replay on the CPU, which draws PyTorch's own numbers; the outputs are those
// of a replay on the device, in the declared precision, TF32 off. On stdout: one line of JSON, {"outputs":
// [{"dtype", "sizes"}]} or {"error", "stage"}, and after the former the outputs' bytes, one after the other.
#include <ATen/ATen.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"
#include "device/gpu.h"
#include "plan/visit.h"
#include "record/recorder.h"
#include "verify/replay.h"

namespace {

using namespace tritogen;
using nlohmann::json;

constexpr int64_t kCpuBytes = int64_t{100} << 30;
constexpr double kGpuShare = 0.95;

struct Stop {
  std::string stage, error;
};

void Expect(const std::string& stage, const std::optional<ReplayFailure>& failure) {
  if (failure) throw Stop{stage, failure->message};
}

TensorList Clones(const TensorList& tensors) {
  TensorList clones;
  for (const at::Tensor& tensor : tensors) clones.push_back(tensor.clone());
  return clones;
}

Plan Record(const std::string& file, const std::string& entry, const std::string& python,
            const std::string& worker, double seconds) {
  Recorder recorder({.python = python,
                     .worker_folder = worker,
                     .allow_weak_jail = true,
                     .wall_seconds = seconds,
                     .cpu_seconds = seconds});
  auto recorded = recorder.Record({.role = Role::kReference, .source = ReadFile(file), .entry = entry});
  if (auto* failure = std::get_if<RecordFailure>(&recorded)) throw Stop{"record", failure->message};
  return std::get<Plan>(std::move(recorded));
}

// What a program starts from: PyTorch's own numbers.
struct Start {
  TensorList inputs, init_inputs;
  std::unordered_map<std::string, at::Tensor> state;
};

Start MakeStart(const Plan& plan, uint64_t seed, ReplayOptions options) {
  options.memory_bytes = kCpuBytes;
  Start start;
  Replayer replayer(plan, options);
  Expect("generate", replayer.Generate(seed, &start.inputs, &start.init_inputs));
  const TensorList warmup = plan.warmup_inputs.empty() ? TensorList() : Clones(start.inputs);
  Expect("set up", replayer.SetUp(seed, Clones(start.init_inputs), warmup, {}));
  for (const auto& [name, tensor] : replayer.State()) start.state[name] = tensor;
  return start;
}

TensorList Replay(const Plan& plan, const Start& start, uint64_t seed, const ReplayOptions& options) {
  Replayer replayer(plan, options);
  const TensorList warmup = plan.warmup_inputs.empty() ? TensorList() : start.inputs;
  Expect("set up on the device", replayer.SetUp(seed, start.init_inputs, warmup, start.state));
  TensorList outputs;
  Expect("run", replayer.Run(start.inputs, seed, &outputs));
  for (at::Tensor& output : outputs) output = output.contiguous().cpu();
  return outputs;
}

void Write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = write(STDOUT_FILENO, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw InternalError("nobody reads the outputs");
    next += count;
    bytes -= static_cast<size_t>(count);
  }
}

void Answer(const json& message) {
  const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  Write(line.data(), line.size());
}

void Run(char** argv) {
  const std::string file = argv[1], entry = argv[2], device = argv[4], python = argv[6], worker = argv[7];
  const uint64_t seed = std::stoull(argv[3]);
  const double seconds = std::stod(argv[5]);
  const Plan plan = Record(file, entry, python, worker, seconds);
  ReplayOptions options{.threads = 1, .check_memory = false, .deadline_seconds = seconds};
  const Start start = MakeStart(plan, seed, options);
  TensorList outputs;
  options.memory_bytes = kCpuBytes;
  if (device == "cuda") {
    const TempDir cache;
    cuda::KernelCompiler compiler({.python = python,
                                   .worker_folder = worker,
                                   .cache_folder = cache.path()});  // a reference has no kernels to compile
    Gpu& gpu = Gpu::Open(0, &compiler);
    options.on_gpu = true;
    options.memory_bytes = static_cast<int64_t>(kGpuShare * static_cast<double>(gpu.info().memory_bytes));
    const GpuTurn turn(&gpu);
    outputs = Replay(plan, start, seed, options);
  } else {
    outputs = Replay(plan, start, seed, options);
  }
  json metas = json::array();
  for (TensorId id : TensorLeaves(plan.outputs))
    metas.push_back({{"dtype", DtypeName(plan.tensors[id].dtype)}, {"sizes", plan.tensors[id].sizes}});
  Answer({{"outputs", metas}});
  for (const at::Tensor& output : outputs) Write(output.const_data_ptr(), output.nbytes());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "usage: replay_references FILE ENTRY SEED cuda|cpu SECONDS PYTHON WORKER_FOLDER\n";
    return 2;
  }
  try {
    Run(argv);
  } catch (const Stop& stop) {
    Answer({{"error", stop.error}, {"stage", stop.stage}});
  } catch (const std::exception& error) {
    Answer({{"error", error.what()}, {"stage", "start"}});
  }
  std::cout.flush();
  _exit(0);  // a context that is gone would not let libraries end
}
