// What compiling a batch's kernels costs: `compile_bench BATCH.jsonl WORKER_FOLDER...` records the candidates
// of tools/make_candidates.py, compiles their kernels for sm_90 with the worker of each folder in turn, every
// kernel in a jailed child as always, and prints CPU for each kernel. It ends with 1 when two folders
// disagree about a cubin. The interpreter comes from TRITOGEN_PYTHON.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/temp_dir.h"
#include "cuda/compiler.h"
#include "record/recorder.h"

namespace {

using namespace tritogen;

std::string Python() {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  return python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python";
}

std::vector<Kernel> RecordAll(const std::string& batch) {
  Recorder recorder({.python = Python(), .worker_folder = TRITOGEN_SOURCE_DIR "/worker"});
  auto plan = [&](const RecordRequest& request) {
    auto recorded = recorder.Record(request);
    if (auto* failure = std::get_if<RecordFailure>(&recorded)) throw UserError(failure->message);
    return std::get<Plan>(std::move(recorded));
  };
  std::vector<Kernel> kernels;
  std::ifstream lines(batch);
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    const Plan reference = plan(
        {.role = Role::kReference, .source = object.at("reference").get<std::string>(), .entry = "Model"});
    const Plan candidate = plan(
        {.source = object.at("candidate").get<std::string>(), .entry = "ModelNew", .reference = &reference});
    kernels.insert(kernels.end(), candidate.kernels.begin(), candidate.kernels.end());
  }
  return kernels;
}

std::set<int> Children() {
  std::set<int> children;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(thread.path() / "children");
    for (int child = 0; list >> child;) children.insert(child);
  }
  return children;
}

// One worker folder: its compiler, with one process and nothing in its cache, and the zygote behind it.
struct Contender {
  explicit Contender(std::string given) : folder(std::move(given)) {
    const std::set<int> before = Children();
    compiler = std::make_unique<cuda::KernelCompiler>(cuda::CompilerOptions{
        .python = Python(), .worker_folder = folder, .cache_folder = cache.path(), .processes = 1});
    compiler->Start();
    const Kernel first{"k", "module { tt.func public @k(%p: !tt.ptr<f64>) { tt.return } }", "", "", {}};
    compiler->Compile(std::span(&first, 1), cuda::TargetForCapability(90));  // it is warm now
    for (int child : Children())
      if (!before.contains(child)) zygote = child;
  }

  // CPU of all children that the zygote has waited for, in seconds.
  double ChildrenCpu() const {
    std::ifstream stat(fmt::format("/proc/{}/stat", zygote));
    std::string field;
    double ticks = 0;
    for (int i = 1; stat >> field; ++i)
      if (i == 16 || i == 17) ticks += std::stod(field);  // cutime, cstime
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  std::string folder;
  TempDir cache;
  std::unique_ptr<cuda::KernelCompiler> compiler;
  int zygote = 0;
};

std::string Cubin(Contender& contender, const Kernel& kernel) {
  auto result = contender.compiler->Compile(std::span(&kernel, 1), cuda::TargetForCapability(90))[0];
  if (auto* failure = std::get_if<cuda::CompileFailure>(&result)) throw UserError(failure->detail);
  return std::get<0>(result)->cubin;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw UserError("usage: compile_bench BATCH.jsonl WORKER_FOLDER...");
  const std::vector<Kernel> kernels = RecordAll(argv[1]);
  std::vector<std::unique_ptr<Contender>> contenders;
  for (int i = 2; i < argc; ++i) contenders.push_back(std::make_unique<Contender>(argv[i]));
  std::vector<double> before;
  for (const auto& contender : contenders) before.push_back(contender->ChildrenCpu());
  int different = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::set<std::string> cubins;
    for (size_t i = 0; i < contenders.size(); ++i)  // nobody is always first
      cubins.insert(Cubin(*contenders[(i + k) % contenders.size()], kernels[k]));
    different += cubins.size() > 1;
  }
  fmt::print("{} kernels, {} with cubins that differ\n", kernels.size(), different);
  for (size_t i = 0; i < contenders.size(); ++i)
    fmt::print("  {}: {:.1f} ms of CPU a kernel\n", contenders[i]->folder,
               1e3 * (contenders[i]->ChildrenCpu() - before[i]) / static_cast<double>(kernels.size()));
  return different > 0 ? 1 : 0;
} catch (const tritogen::UserError& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
