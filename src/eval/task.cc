#include "eval/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/splitmix.h"
#include "base/text.h"
#include "base/thread_team.h"
#include "data/draw.h"
#include "program/parse.h"

namespace tritogen::eval {
namespace {

constexpr size_t kMostText = size_t{4} << 20;
constexpr int64_t kMostDraws = 10'000'000;

constexpr std::pair<const char*, Split> kSplits[] = {{"held-out", Split::kHeldOut},
                                                     {"train", Split::kTrain},
                                                     {"pairs", Split::kPairs},
                                                     {"shapes", Split::kShapes}};

std::string NameOf(Split split) {
  for (const auto& [name, value] : kSplits) {
    if (value == split) return name;
  }
  TRITOGEN_CHECK(false);
}

synth::Side ShownIn(Split split) {
  return split == Split::kHeldOut ? synth::Side::kTest
         : split == Split::kTrain ? synth::Side::kTrain
                                  : synth::Side::kAll;
}

void CheckSuite(const data::ProgramOptions& programs, const SynthSuite& suite) {
  if (suite.split == Split::kHeldOut && programs.test_share <= 0)
    throw UserError("--split held-out: the configuration's programs.test_share is 0: no program is held out");
  if (suite.split == Split::kPairs && programs.held_out.empty())
    throw UserError("--split pairs: the configuration holds nothing out (programs.held_out)");
  const bool operators = synth::HeldOut::Parse(programs.held_out).operators.empty();
  if (suite.split == Split::kPairs && operators && std::ranges::min(suite.levels) < 2)
    throw UserError("--split pairs: a program of level 1 has no pair of operators; give --level 2 or more");
}

// Of pairs and shapes, too, nothing is to be learned.
Task TaskOf(data::Record record, Split split, const std::string& id) {
  return {.id = id,
          .group = fmt::format("level {}", record.level),
          .ops = std::move(record.ops),
          .fingerprint = std::move(record.fingerprint),
          .graph_fingerprint = std::move(record.graph_fingerprint),
          .split = split == Split::kTrain ? "train" : "test",
          .reference = {std::move(record.reference), "Model", false},
          .program = std::move(record.parsed)};
}

Task TaskFrom(std::string_view line, int64_t number) {
  const nlohmann::json json = ParseJson(line);
  const JsonCursor at(json);
  at.ExpectObject();
  const auto text = [&](const char* key, const std::string& fallback) {
    return at.Has(key) && !at[key].json().is_null() ? at[key].String(kMostText) : fallback;
  };
  const bool has_level = at.Has("level") && at["level"].json().is_number_integer();
  Task task{
      .id = text("id", fmt::format("line {}", number)),
      .group = text("group", has_level ? fmt::format("level {}", at["level"].json().get<int64_t>()) : "all"),
      .split = text("split", ""),
      .reference = {text("reference", ""), text("reference_entry", "Model"), false}};
  if (task.reference.text.empty()) throw FormatError("it has no text field 'reference'");
  if (const std::string program = text("program", ""); !program.empty())
    task.program = std::make_shared<const Program>(ParseProgram(program));
  return task;
}

struct Stop {
  explicit Stop(std::function<bool()> asked) : ask(std::move(asked)) {}
  std::function<bool()> ask;
  std::atomic<bool> said = false;
};

// Calls all of them, on all cores; `watch` is called now and then on this thread. Throws what one of them
// threw.
void Run(const std::vector<std::function<void()>>& work, const std::function<void()>& watch, Stop* stop) {
  std::atomic<size_t> next = 0;
  std::vector<std::future<void>> threads;
  const auto cores = static_cast<size_t>(MachineThreads());
  for (size_t i = 0; i < std::min(cores, work.size()); ++i) {
    threads.push_back(std::async(std::launch::async, [&] {
      for (size_t mine; (mine = next++) < work.size();) work[mine]();
    }));
  }
  for (std::future<void>& thread : threads) {
    while (thread.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
      if (stop->ask()) stop->said = true;
      watch();
    }
  }
  for (std::future<void>& thread : threads) thread.get();
}

// The programs of one level, drawn by a fixed number of streams, so that many cores can draw and the result
// does not depend on how many there are: the streams' first programs, then their second ones, …, without
// repetitions.
class LevelStreams {
 public:
  LevelStreams(const data::BuildOptions& options, const data::ProgramOptions& programs,
               const SynthSuite& suite, int level, const std::shared_ptr<synth::CountedKept>& kept)
      : suite_(suite), level_(level), streams_(kStreams) {
    const std::string operators = options.levels.empty() ? "all" : options.levels[0].operators;
    const uint64_t seed = SplitMix::At(suite.seed, static_cast<uint64_t>(level));
    for (size_t i = 0; i < kStreams; ++i) {
      streams_[i].draw = [=, split = suite.split, only_held_out = suite.split == Split::kPairs] {
        return std::make_unique<data::Draw>(
            SplitMix::At(seed, i), programs,
            std::vector<data::LevelOptions>{{.level = level, .programs = kMostDraws, .operators = operators}},
            only_held_out, ShownIn(split), kept);
      };
    }
  }
  int64_t missing() const { return suite_.count - static_cast<int64_t>(tasks_.size()); }
  std::vector<Task>& tasks() { return tasks_; }

  // What is missing, by stream.
  void AddWork(std::vector<std::function<void()>>* work, std::atomic<int64_t>* drawn, Stop* stop) {
    if (missing() <= 0) return;
    for (size_t i = 0; i < kStreams; ++i) {
      // Of the places that follow, those that are this stream's.
      const size_t past = merged_ + static_cast<size_t>(missing());
      int64_t each = static_cast<int64_t>((past + kStreams - 1 - i) / kStreams -
                                          (merged_ + kStreams - 1 - i) / kStreams);
      each -= static_cast<int64_t>(streams_[i].records.size());
      if (each <= 0) continue;
      work->push_back([this, i, each, drawn, stop] {
        Stream& stream = streams_[i];
        if (!stream.source) stream.source = stream.draw();
        for (int64_t found = 0; found < each && !stop->said;) {
          data::Record record = stream.source->Next();
          stream.records.push_back(std::move(record));
          ++found;
          ++*drawn;
        }
      });
    }
  }
  void Merge() {
    for (; missing() > 0; ++merged_) {
      Stream& stream = streams_[merged_ % kStreams];
      if (stream.records.empty()) return;
      data::Record record = std::move(stream.records.front());
      stream.records.pop_front();
      if (!seen_.insert(record.fingerprint).second) continue;
      tasks_.push_back(TaskOf(std::move(record), suite_.split,
                              fmt::format("{}/{}/{}", NameOf(suite_.split), level_, tasks_.size())));
    }
  }

 private:
  static constexpr size_t kStreams = 16;
  struct Stream {
    std::function<std::unique_ptr<data::Draw>()> draw;
    std::unique_ptr<data::Draw> source;
    std::deque<data::Record> records;  // not merged yet
  };
  const SynthSuite& suite_;
  int level_;
  std::vector<Stream> streams_;
  size_t merged_ = 0;  // records looked at
  std::set<std::string> seen_;
  std::vector<Task> tasks_;
};

}  // namespace

const Split* SplitNamed(std::string_view name) {
  for (const auto& [text, split] : kSplits) {
    if (text == name) return &split;
  }
  return nullptr;
}

std::vector<std::string> SplitNames() {
  std::vector<std::string> names;
  for (const auto& [name, split] : kSplits) names.emplace_back(name);
  return names;
}

std::vector<Task> DrawTasks(const data::BuildOptions& options, const SynthSuite& suite,
                            const std::function<void(int64_t)>& progress, const std::function<bool()>& stop) {
  data::ProgramOptions programs = options.programs;
  CheckSuite(programs, suite);
  if (suite.split == Split::kShapes) {
    programs.sizes = suite.sizes.empty() ? options.eval.shapes : suite.sizes;
    if (programs.sizes.empty())
      throw UserError("--split shapes: which sizes? Give --sizes, or eval.shapes in the configuration");
  }
  const auto kept = std::make_shared<synth::CountedKept>();
  std::vector<LevelStreams> levels;
  for (const int level : suite.levels) levels.emplace_back(options, programs, suite, level, kept);
  std::atomic<int64_t> drawn = 0;
  Stop stopped(stop);
  while (std::ranges::any_of(levels, [](const LevelStreams& level) { return level.missing() > 0; })) {
    std::vector<std::function<void()>> work;
    for (LevelStreams& level : levels) level.AddWork(&work, &drawn, &stopped);
    Run(
        work, [&] { progress(drawn); }, &stopped);
    if (stopped.said) return {};
    for (LevelStreams& level : levels) level.Merge();
  }
  std::vector<Task> tasks;
  for (LevelStreams& level : levels) {
    for (Task& task : level.tasks()) tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<Task> ReadTasks(std::string_view text, const std::string& file) {
  std::vector<Task> tasks;
  std::map<std::string, int64_t> lines;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = Trimmed(TakeLine(&text));
    if (line.empty()) continue;
    try {
      tasks.push_back(TaskFrom(line, number));
    } catch (const FormatError& error) {
      throw UserError(fmt::format("{}, line {}: {}", file, number, error.what()));
    }
    const auto [first, fresh] = lines.emplace(tasks.back().id, number);
    if (!fresh)
      throw UserError(fmt::format("{}: lines {} and {} have the same id '{}'", file, first->second, number,
                                  first->first));
  }
  if (tasks.empty()) throw UserError(fmt::format("{} holds no task", file));
  return tasks;
}

}  // namespace tritogen::eval
