#include "train/read_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/json_text.h"
#include "base/splitmix.h"
#include "base/text.h"
#include "base/thread_team.h"
#include "data/manifest.h"
#include "program/parse.h"
#include "text/answer.h"
#include "text/prompt.h"
#include "train/repair.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;
using data::Record;

constexpr int64_t kBlock = 4096;  // lines between two looks at the clock

// A file with lines, and the failures that belong to it.
struct Source {
  fs::path path;
  std::optional<data::FileInfo> info;
  fs::path failures;  // empty: none
  data::FileInfo failures_info;
  int64_t bytes = 0;

  std::string Lines() const { return info ? data::ReadLines(path, *info) : data::ReadLines(path); }
};

std::vector<Source> FindSources(const CorpusOptions& options) {
  std::vector<Source> sources;
  for (const std::string& name : options.data) {
    if (!fs::is_directory(name)) {
      sources.push_back({.path = name});
      continue;
    }
    for (const data::ShardInfo& shard : data::FindShards(name)) {
      sources.push_back({.path = fs::path(name) / data::ShardName(shard.index), .info = shard.records});
      if (shard.failures.records == 0 || options.repair_share == 0) continue;
      sources.back().failures = fs::path(name) / data::FailuresName(shard.index);
      sources.back().failures_info = shard.failures;
    }
  }
  if (sources.empty()) throw UserError("there is no data: name folders of sets or files of JSON lines");
  for (Source& source : sources) {
    std::error_code error;
    source.bytes = static_cast<int64_t>(fs::file_size(source.path, error));
    if (error) throw UserError(fmt::format("cannot read {}: {}", source.path.string(), error.message()));
  }
  return sources;
}

// The lines of a text that are not blank, with their numbers from 1.
struct Line {
  int64_t number;
  std::string_view text;
};

std::vector<Line> LinesOf(std::string_view text) {
  std::vector<Line> lines;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = Trimmed(TakeLine(&text));
    if (!line.empty()) lines.push_back({number, line});
  }
  return lines;
}

// What a line of a file became.
struct Made {
  enum class Kind { kExample, kTooLong, kOtherSplit, kNotPassed };
  Kind kind = Kind::kExample;
  Example example;
  std::shared_ptr<Record> record;  // of a right answer, where repairs may need it
};

// One thread's means of making examples.
class LineReader {
 public:
  LineReader(const CorpusOptions& options, const PromptTemplate& prompt, const ChatFormat& format,
             int64_t longest)
      : options_(options), prompt_(prompt), maker_(format, longest) {}

  Made Read(std::string_view line, bool keep_record) {
    const bool conversation = line.find("\"messages\"") != std::string_view::npos;
    nlohmann::ordered_json json;
    if (conversation) json = ParseOrdered(line);
    if (conversation && json.contains("messages")) return ReadConversation(json);
    Made made;
    Record record = data::FromLine(line);
    if (record.split != options_.split) return {Made::Kind::kOtherSplit};
    if (record.verdict != "passed") return {Made::Kind::kNotPassed};
    if (keep_record) made.record = std::make_shared<Record>(record);
    SetExample(maker_.Make(Messages(record, nullptr)), &made);
    return made;
  }

  Made Repair(const Record& right, const WrongAnswer& wrong) {
    Made made;
    SetExample(maker_.Make(Messages(right, &wrong)), &made);
    return made;
  }

 private:
  static nlohmann::ordered_json ParseOrdered(std::string_view line) {
    ParseJson(line);  // for its limits and errors
    return nlohmann::ordered_json::parse(line);
  }

  static void SetExample(std::optional<Example> example, Made* made) {
    if (example) made->example = std::move(*example);
    made->kind = example ? Made::Kind::kExample : Made::Kind::kTooLong;
  }

  Made ReadConversation(const nlohmann::ordered_json& json) {
    const auto split = json.find("split");
    if (split != json.end() && split->is_string() && *split != options_.split)
      return {Made::Kind::kOtherSplit};
    Made made;
    SetExample(maker_.Make(json["messages"]), &made);
    return made;
  }

  bool Strict(const Record& record) const {
    if (record.work_flops < 1 || record.work_bytes < 1) return false;
    const uint64_t key = SplitMix::At(options_.seed, static_cast<uint64_t>(record.draw));
    return !SplitMix(key + static_cast<uint64_t>(record.answer)).Chance(options_.hybrid_share);
  }

  jinja::Value Messages(const Record& record, const WrongAnswer* wrong) const {
    PromptTask task = PolicyTask(ParseProgram(record.program), Strict(record));
    task.source = record.reference;
    std::vector<ChatMessage> messages = MessagesOf(prompt_, ValuesOf(prompt_, task, prompt_.body));
    if (wrong != nullptr) {
      messages.push_back({"assistant", wrong->text});
      messages.push_back({"user", RepairText(wrong->outcome, wrong->rule, wrong->reason)});
    }
    messages.push_back({"assistant", FormatAnswer(record.thoughts, record.plan, record.source)});
    return ToJson(messages);
  }

  const CorpusOptions& options_;
  const PromptTemplate& prompt_;
  ExampleMaker maker_;
};

// A right answer and a wrong one to the same program.
struct Pair {
  const Record* right;
  const WrongAnswer* wrong;
};

// So many of [0, count), each as likely as the other, ascending (Knuth's algorithm S).
std::vector<int64_t> Subset(int64_t count, int64_t wanted, uint64_t seed) {
  SplitMix random(seed);
  std::vector<int64_t> chosen;
  wanted = std::min(wanted, count);
  for (int64_t i = 0; i < count && wanted > 0; ++i) {
    if (static_cast<int64_t>(random.Below(static_cast<uint64_t>(count - i))) >= wanted) continue;
    chosen.push_back(i);
    --wanted;
  }
  return chosen;
}

class Reading {
 public:
  Reading(const CorpusOptions& options, const ChatFormat& format, int64_t longest, int threads,
          const ReadHooks& hooks)
      : options_(options),
        longest_(longest),
        hooks_(hooks),
        prompt_(FindPrompt(options.prompt)),
        team_(threads) {
    if (prompt_.answer != AnswerForm::kClass)
      throw UserError(
          fmt::format("prompt '{}' asks for no class, which the answers of a data set are", options.prompt));
    for (int i = 0; i < team_.size(); ++i) readers_.emplace_back(options, prompt_, format, longest);
    if (options.repair_share > 0) {
      for (const std::string& path : options.wrong) ReadWrongAnswers(path, &wrong_);
    }
  }

  std::optional<CorpusRead> Run() {
    const std::vector<Source> sources = FindSources(options_);
    for (const Source& source : sources) total_ += source.bytes;
    for (const Source& source : sources) {
      if (!ReadSource(source)) return std::nullopt;
      done_ += source.bytes;
    }
    return Choose();
  }

 private:
  bool ReadSource(const Source& source) {
    const std::string text = source.Lines();
    const std::vector<Line> lines = LinesOf(text);
    if (lines.empty() && !source.info) throw UserError(fmt::format("{} is empty", source.path.string()));
    const bool keep = !source.failures.empty() || !wrong_.empty();
    std::vector<Made> made(lines.size());
    const auto read_line = [&](LineReader* reader, int64_t i) {
      try {
        made[i] = reader->Read(lines[i].text, keep);
      } catch (const FormatError& error) {
        throw UserError(fmt::format("{}, line {}: {}", source.path.string(), lines[i].number, error.what()));
      }
    };
    if (!ForEach(source, static_cast<int64_t>(lines.size()), read_line)) return false;
    counts_.lines += static_cast<int64_t>(lines.size());
    for (const Made& line : made) Count(line, &examples_);
    return !keep || ReadRepairs(source, made);
  }

  bool ReadRepairs(const Source& source, const std::vector<Made>& made) {
    std::unordered_map<int64_t, std::vector<const Record*>> by_draw;
    std::map<std::string_view, std::vector<const Record*>> by_program;
    for (const Made& line : made) {
      if (line.record == nullptr) continue;
      by_draw[line.record->draw].push_back(line.record.get());
      by_program[line.record->program].push_back(line.record.get());
    }
    std::deque<WrongAnswer> failures;
    std::vector<Pair> pairs;
    for (const Record& failure : FailuresOf(source)) {
      const auto right = by_draw.find(failure.draw);
      auto wrong = WrongAnswerFrom(failure);
      if (right == by_draw.end() || !wrong) continue;
      failures.push_back(std::move(*wrong));
      pairs.push_back({right->second[failure.answer % right->second.size()], &failures.back()});
    }
    for (const auto& [program, right] : by_program) {
      const auto found = wrong_.find(program);
      if (found == wrong_.end()) continue;
      for (size_t i = 0; i < found->second.size(); ++i)
        pairs.push_back({right[i % right.size()], &found->second[i]});
    }
    std::vector<Made> repairs(pairs.size());
    const auto make_repair = [&](LineReader* reader, int64_t i) {
      try {
        repairs[i] = reader->Repair(*pairs[i].right, *pairs[i].wrong);
      } catch (const FormatError& error) {
        throw UserError(
            fmt::format("{}, repair of {}: {}", source.path.string(), pairs[i].right->id(), error.what()));
      }
    };
    if (!ForEach(source, static_cast<int64_t>(pairs.size()), make_repair)) return false;
    for (const Made& repair : repairs) Count(repair, &repairs_);
    return true;
  }

  static std::vector<Record> FailuresOf(const Source& source) {
    if (source.failures.empty()) return {};
    return data::ReadRecords(source.failures, source.failures_info);
  }

  // Calls with each of `count` numbers on some thread. False: it was stopped.
  bool ForEach(const Source& source, int64_t count, const std::function<void(LineReader*, int64_t)>& work) {
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t size = std::min(kBlock, count - begin);
      team_.For(size, 8, [&](int thread, int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) work(&readers_[thread], begin + i);
      });
      if (hooks_.stop()) return false;
      const double share = static_cast<double>(begin + size) / static_cast<double>(count);
      hooks_.progress(done_ + static_cast<int64_t>(share * static_cast<double>(source.bytes)), total_);
    }
    return true;
  }

  void Count(const Made& made, Corpus* kept) {
    switch (made.kind) {
      case Made::Kind::kExample:
        kept->Add(made.example);
        break;
      case Made::Kind::kTooLong:
        ++counts_.too_long;
        break;
      case Made::Kind::kOtherSplit:
        ++counts_.other_split;
        break;
      case Made::Kind::kNotPassed:
        ++counts_.not_passed;
        break;
    }
  }

  // The examples, and as many repairs as their share and their number allow.
  CorpusRead Choose() {
    const double share = std::min(options_.repair_share, 0.999);
    const auto most_repairs =
        static_cast<int64_t>(share / (1 - share) * static_cast<double>(examples_.size()));
    std::vector<int64_t> repairs = Subset(repairs_.size(), most_repairs, SplitMix::At(options_.seed, 0));
    const int64_t all = examples_.size() + static_cast<int64_t>(repairs.size());
    CorpusRead read;
    for (const int64_t i :
         Subset(all, options_.most > 0 ? options_.most : all, SplitMix::At(options_.seed, 1))) {
      const bool repair = i >= examples_.size();
      const Corpus::View view = repair ? repairs_.at(repairs[i - examples_.size()]) : examples_.at(i);
      read.corpus.Add({{view.tokens.begin(), view.tokens.end()}, view.plan, view.code});
      counts_.repairs += repair;
    }
    counts_.examples = read.corpus.size();
    if (counts_.examples == 0) throw UserError("no example is left of the data: " + counts_.ToText(longest_));
    read.counts = counts_;
    return read;
  }

  const CorpusOptions& options_;
  int64_t longest_;
  const ReadHooks& hooks_;
  const PromptTemplate& prompt_;
  ThreadTeam team_;
  std::deque<LineReader> readers_;
  WrongAnswers wrong_;
  int64_t total_ = 0, done_ = 0;
  CorpusCounts counts_;
  Corpus examples_, repairs_;
};

}  // namespace

void Describe(config::Fields* f, CorpusOptions* o) {
  static const std::vector<std::string> kSplits{"train", "test"}, kPrompts = PromptNames();
  f->Texts("data", &o->data);
  f->Texts("wrong", &o->wrong);
  f->Choice("split", &o->split, kSplits);
  f->Choice("prompt", &o->prompt, kPrompts);
  f->Int("most", &o->most, 0, int64_t{1} << 40);
  f->Double("repair_share", &o->repair_share, 0, 1);
  f->Double("hybrid_share", &o->hybrid_share, 0, 1);
  f->Int("seed", &o->seed, 0, int64_t{1} << 53);
}

std::string CorpusCounts::ToText(int64_t longest) const {
  std::string text = fmt::format("{} examples", examples);
  if (repairs > 0) text += fmt::format(" ({} of them repairs)", repairs);
  text += fmt::format(" of {} lines", lines);
  if (other_split > 0) text += fmt::format("; {} of the other split", other_split);
  if (not_passed > 0) text += fmt::format("; {} that did not pass", not_passed);
  if (too_long > 0) text += fmt::format("; {} longer than {} tokens", too_long, longest);
  return text;
}

std::optional<CorpusRead> ReadCorpus(const CorpusOptions& options, const ChatFormat& format, int64_t longest,
                                     int threads, const ReadHooks& hooks) {
  return Reading(options, format, longest, threads, hooks).Run();
}

}  // namespace tritogen::train
