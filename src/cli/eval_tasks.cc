#include "cli/eval_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/data.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "config/fields.h"
#include "program/catalogue.h"
#include "record/split.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPrograms = 100;  // of a level
constexpr size_t kMostSuiteBytes = size_t{4} << 30;

// "level1/1_Square.py" under a folder that was named; the folder is the task's group.
std::vector<eval::Task> FilesOf(const std::vector<std::string>& names) {
  std::vector<eval::Task> tasks;
  const auto add = [&](const fs::path& file) {
    const std::string group = fs::absolute(file).parent_path().filename().string();
    tasks.push_back({.id = group + "/" + file.filename().string(),
                     .group = group,
                     .reference = {ReadSource(file.string()), "Model", false}});
  };
  for (const std::string& name : names) {
    if (!fs::is_directory(name)) {
      add(name);
      continue;
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(name)) {
      if (entry.path().extension() == ".py") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) throw UserError(fmt::format("'{}' holds no task: there is no .py file", name));
    for (const fs::path& file : files) add(file);
  }
  std::ranges::sort(tasks, {}, &eval::Task::id);
  const auto twice = std::ranges::adjacent_find(tasks, {}, &eval::Task::id);
  if (twice != tasks.end()) throw UserError(fmt::format("the task {} was given twice", twice->id));
  return tasks;
}

// Fills in Plan and Program; why not. `strict`: as for who has to write all of it in Triton.
std::string Record(Recorder* recorder, bool strict, eval::Task* task) {
  const RecordRequest request{
      .role = Role::kReference, .source = task->reference.text, .entry = task->reference.entry};
  const auto record = [&](const RecordRequest& asked) { return recorder->Record(asked); };
  auto recorded = record(request);
  if (const auto* failure = std::get_if<RecordFailure>(&recorded)) return failure->message;
  LiftedReference reference;
  try {
    reference = LiftReference(std::move(std::get<Plan>(recorded)));
  } catch (const FormatError& error) {
    return error.what();
  }
  for (const Node& node : reference.program->nodes) {
    if (node.kind != NodeKind::kOp) continue;
    const OpRow* row = FindOp(node.op);
    task->ops.emplace_back(row == nullptr ? node.op : std::string(row->name));
  }
  if (strict) reference = InKnownOps(record, request, reference);
  task->plan = std::move(reference.plan);
  task->program = std::move(reference.program);
  return "";
}

}  // namespace

void SuiteOptions::AddTo(CLI::App* app) {
  app->add_option("--suite", suite,
                  "synth: programs drawn at random; kernelbench: files that are given; or a JSONL file of "
                  "tasks")
      ->capture_default_str();
  app->add_option("FILES", files,
                  "for --suite kernelbench: files with Model and get_inputs, and folders of them");
  app->add_option(
      "--config", config,
      "configuration of a data set: sizes, limits, what is held out (default: configs/data.toml)");
  app->add_option("--level", levels, "operations in a program: 1,2,3")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--split", split,
                  "held-out: no set trains on them; train: the other side; pairs: programs with a pair of\n"
                  "operators that sets do not have; shapes: sizes that sets do not have")
      ->capture_default_str();
  app->add_option("--sizes", sizes,
                  "for --split shapes: 20,36..40 (default: eval.shapes of the configuration)");
  app->add_option("--count", count, "programs of each level (default: 100); of another suite: tasks at most")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  app->add_option("--seed", seed, "of programs, sampling and inputs")->check(kSeed)->capture_default_str();
}

nlohmann::ordered_json SuiteOptions::ToJson() const {
  nlohmann::ordered_json json = {{"suite", suite}, {"seed", seed}};
  if (suite == "synth") {
    json["split"] = split;
    json["levels"] = levels;
    json["sizes"] = sizes;
  } else {
    json["files"] = files;
  }
  return json;
}

void CheckSuite(const SuiteOptions& options) {
  if (options.suite == "synth" && !options.files.empty())
    throw UserError("--suite synth draws its programs: files go with --suite kernelbench");
  if (options.suite == "kernelbench" && options.files.empty())
    throw UserError("--suite kernelbench: name files or folders of tasks");
  if (eval::SplitNamed(options.split) == nullptr)
    throw UserError(fmt::format("--split {}: there are held-out, train, pairs and shapes{}", options.split,
                                config::DidYouMean(options.split, eval::SplitNames())));
  if (options.suite != "synth" && options.suite != "kernelbench" && !fs::exists(options.suite)) {
    const std::vector<std::string> names = {"synth", "kernelbench"};
    throw UserError(fmt::format("--suite {}: there are synth, kernelbench, and no such file{}", options.suite,
                                config::DidYouMean(options.suite, names)));
  }
}

std::vector<eval::Task> DrawSuite(const SuiteOptions& options, const Environment& environment) {
  const std::string config =
      options.config.empty() ? environment.root + "/configs/data.toml" : options.config;
  const data::BuildOptions build = ReadSetConfig(config, environment);
  eval::SynthSuite suite{.split = *eval::SplitNamed(options.split),
                         .levels = options.levels,
                         .count = options.count.value_or(kPrograms),
                         .seed = options.seed,
                         .sizes = options.sizes};
  std::ranges::sort(suite.levels);
  suite.levels.erase(std::unique(suite.levels.begin(), suite.levels.end()), suite.levels.end());
  const int64_t total = suite.count * static_cast<int64_t>(suite.levels.size());
  Progress progress("draw", total);
  auto tasks = eval::DrawTasks(
      build, suite,
      [&](int64_t done) {
        if (done < total) progress.Set(done);
      },
      Interrupted);
  progress.Clear();
  return tasks;
}

std::vector<eval::Task> RecordSuite(const SuiteOptions& options, bool strict, Recorder* recorder,
                                    std::vector<std::string>* remarks) {
  std::vector<eval::Task> tasks =
      options.suite == "kernelbench"
          ? FilesOf(options.files)
          : eval::ReadTasks(ReadFile(options.suite, kMostSuiteBytes), options.suite);
  if (options.count) tasks.resize(std::min(tasks.size(), static_cast<size_t>(*options.count)));
  Progress progress("record", static_cast<int64_t>(tasks.size()));
  int64_t done = 0;
  for (eval::Task& task : tasks) {
    if (Interrupted()) return {};
    if (task.program == nullptr) {
      if (const std::string why = Record(recorder, strict, &task); !why.empty())
        remarks->push_back(fmt::format("{} is left out: {}", task.id, why));
    }
    progress.Set(++done);
  }
  progress.Clear();
  std::erase_if(tasks, [](const eval::Task& task) { return task.program == nullptr; });
  return tasks;
}

}  // namespace tritogen
