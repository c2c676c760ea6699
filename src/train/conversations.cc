#include "train/conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/json_text.h"
#include "base/splitmix.h"
#include "base/text.h"
#include "data/manifest.h"
#include "program/parse.h"
#include "text/answer.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;
using data::Record;

constexpr size_t kBlock = 4096;  // lines

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

// A line that is {"messages": […]}; nothing where it is a record.
std::optional<nlohmann::ordered_json> ConversationIn(std::string_view line) {
  if (line.find("\"messages\"") == std::string_view::npos) return std::nullopt;
  auto json = ParseJsonInOrder(line);
  if (!json.contains("messages")) return std::nullopt;
  if (!json["messages"].is_array()) throw FormatError("messages: expected an array");
  return json;
}

bool IsOfSplit(const nlohmann::ordered_json& conversation, const std::string& split) {
  const auto found = conversation.find("split");
  return found == conversation.end() || !found->is_string() || *found == split;
}

// Whether it is one of those that known_share leaves out.
bool IsLeftOut(const nlohmann::ordered_json& conversation, int64_t number, const CorpusOptions& options) {
  const auto passed = conversation.find("answers_passed");
  if (passed == conversation.end()) return false;
  if (!passed->is_number()) throw FormatError("answers_passed: expected a number");
  return passed->get<double>() >= 1 &&
         !SplitMix(SplitMix::At(options.seed, static_cast<uint64_t>(number))).Chance(options.known_share);
}

// Whether an answer that keeps to strict mode is asked for in strict mode: most are.
bool AskStrictly(const Record& record, const CorpusOptions& options) {
  if (record.work_flops < 1 || record.work_bytes < 1) return false;
  const uint64_t draw = SplitMix::At(options.seed, static_cast<uint64_t>(record.draw));
  return !SplitMix(draw + static_cast<uint64_t>(record.answer)).Chance(options.hybrid_share);
}

}  // namespace

// A file with lines, and the failures that belong to it.
struct ConversationReader::Source {
  fs::path path;
  std::optional<data::FileInfo> info;
  fs::path failures;  // empty: none
  data::FileInfo failures_info;
  int64_t bytes = 0;
};

struct ConversationReader::OpenFile {
  const Source* source;
  std::string text;
  std::vector<Line> lines;
  size_t next = 0;              // line
  bool keep = false;            // the records are needed for repairs
  std::vector<Record> records;  // right answers so far

  std::string Place(size_t line) const {
    return fmt::format("{}, line {}", source->path.string(), lines[line].number);
  }
};

void Describe(config::Fields* f, CorpusOptions* o) {
  static const std::vector<std::string> kSplits{"train", "test"}, kPrompts = PromptNames();
  f->Texts("data", &o->data);
  f->Texts("wrong", &o->wrong);
  f->Choice("split", &o->split, kSplits);
  f->Choice("prompt", &o->prompt, kPrompts);
  f->Int("most", &o->most, 0, int64_t{1} << 40);
  f->Double("repair_share", &o->repair_share, 0, 1);
  f->Double("hybrid_share", &o->hybrid_share, 0, 1);
  f->Double("known_share", &o->known_share, 0, 1);
  f->Int("seed", &o->seed, 0, int64_t{1} << 53);
}

ConversationReader::ConversationReader(const CorpusOptions& options, ThreadTeam* team)
    : options_(options), team_(team), prompt_(FindPrompt(options.prompt)) {
  if (prompt_.answer != AnswerForm::kClass) {
    throw UserError(fmt::format("prompt '{}' does not ask for a class, which the answers of data sets are",
                                options.prompt));
  }
  FindSources();
  if (options.repair_share == 0) return;
  for (const std::string& path : options.wrong) ReadWrongAnswers(path, &wrong_);
}

ConversationReader::~ConversationReader() = default;

void ConversationReader::FindSources() {
  for (const std::string& name : options_.data) {
    if (!fs::is_directory(name)) {
      sources_.push_back({.path = name});
      continue;
    }
    for (const data::ShardInfo& shard : data::FindShards(name)) {
      sources_.push_back({.path = fs::path(name) / data::ShardName(shard.index), .info = shard.records});
      if (shard.failures.records == 0 || options_.repair_share == 0) continue;
      sources_.back().failures = fs::path(name) / data::FailuresName(shard.index);
      sources_.back().failures_info = shard.failures;
    }
  }
  if (sources_.empty()) throw UserError("there is no data: name folders of sets, or files of JSON lines");
  for (Source& source : sources_) {
    std::error_code error;
    const auto size = fs::file_size(source.path, error);
    if (error)
      throw UserError(fmt::format(
          "cannot read {}: {}; sets are built by ./tritogen data build (configs/data.toml and its like)",
          source.path.string(), error.message()));
    source.bytes = static_cast<int64_t>(size);
    bytes_ += source.bytes;
  }
}

void ConversationReader::Open(const Source& source) {
  file_ = std::make_unique<OpenFile>(OpenFile{.source = &source});
  file_->text = source.info ? data::ReadLines(source.path, *source.info) : data::ReadLines(source.path);
  file_->lines = LinesOf(file_->text);
  file_->keep = !source.failures.empty() || !wrong_.empty();
  if (file_->lines.empty() && !source.info) throw UserError(fmt::format("{} is empty", source.path.string()));
  counts_.lines += static_cast<int64_t>(file_->lines.size());
}

int64_t ConversationReader::bytes_done() const {
  if (file_ == nullptr || file_->lines.empty()) return bytes_done_;
  const double share = static_cast<double>(file_->next) / static_cast<double>(file_->lines.size());
  return bytes_done_ + static_cast<int64_t>(share * static_cast<double>(file_->source->bytes));
}

bool ConversationReader::Next(std::vector<Conversation>* block) {
  block->clear();
  while (block->empty()) {
    if (file_ == nullptr && next_source_ == sources_.size()) {
      CountUnpaired();
      return false;
    }
    if (file_ == nullptr) {
      Open(sources_[next_source_++]);
    } else if (file_->next < file_->lines.size()) {
      ReadBlock(block);
    } else {
      if (file_->keep) MakeRepairs(block);
      bytes_done_ += file_->source->bytes;
      file_.reset();
    }
  }
  return true;
}

void ConversationReader::ReadBlock(std::vector<Conversation>* block) {
  OpenFile& file = *file_;
  const size_t begin = file.next, size = std::min(kBlock, file.lines.size() - begin);
  std::vector<Conversation> read(size);
  std::vector<std::optional<Record>> records(size);
  std::vector<char> left_out(size);
  const auto read_line = [&](size_t i) {
    const std::string_view line = file.lines[begin + i].text;
    read[i].place = file.Place(begin + i);
    if (auto conversation = ConversationIn(line)) {
      if (!IsOfSplit(*conversation, options_.split)) return;
      left_out[i] = IsLeftOut(*conversation, file.lines[begin + i].number, options_);
      if (!left_out[i]) read[i].messages = (*conversation)["messages"];
      return;
    }
    records[i] = data::FromLine(line);
    if (records[i]->split == options_.split && records[i]->verdict == "passed")
      read[i].messages = Messages(*records[i], nullptr);
  };
  team_->For(static_cast<int64_t>(size), 8, [&](int, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      try {
        read_line(i);
      } catch (const FormatError& error) {
        throw UserError(fmt::format("{}: {}", file.Place(begin + i), error.what()));
      }
    }
  });
  for (size_t i = 0; i < size; ++i) {
    if (read[i].messages.is_null()) {
      const bool failed = records[i] && records[i]->split == options_.split;
      ++(left_out[i] ? counts_.known : failed ? counts_.not_passed : counts_.other_split);
      continue;
    }
    block->push_back(std::move(read[i]));
    if (file.keep && records[i]) file.records.push_back(std::move(*records[i]));
  }
  file.next += size;
}

// Failures of the set with right answers of the same draw, then wrong answers by their programs; wrong ones
// of one program take turns among the right ones.
void ConversationReader::MakeRepairs(std::vector<Conversation>* block) {
  const OpenFile& file = *file_;
  std::unordered_map<int64_t, std::vector<const Record*>> by_draw;
  std::map<std::string_view, std::vector<const Record*>> by_program;
  for (const Record& record : file.records) {
    by_draw[record.draw].push_back(&record);
    by_program[record.program].push_back(&record);
  }
  const auto add = [&](const Record& right, const WrongAnswer& wrong) {
    const std::string place = fmt::format("{}, repair of {}", file.source->path.string(), right.id());
    block->push_back({Messages(right, &wrong), place, true});
  };
  if (!file.source->failures.empty()) {
    for (const Record& failure : data::ReadRecords(file.source->failures, file.source->failures_info)) {
      const auto right = by_draw.find(failure.draw);
      const auto wrong = WrongAnswerFrom(failure);
      if (right != by_draw.end() && wrong) add(*right->second[failure.answer % right->second.size()], *wrong);
    }
  }
  for (const auto& [program, right] : by_program) {
    const auto found = wrong_.find(program);
    if (found == wrong_.end()) continue;
    for (size_t i = 0; i < found->second.size(); ++i) add(*right[i % right.size()], found->second[i]);
    paired_.insert(found->first);
  }
}

void ConversationReader::CountUnpaired() {
  counts_.unpaired = 0;
  if (options_.split != "train") return;
  for (const auto& [program, answers] : wrong_)
    counts_.unpaired += paired_.contains(program) ? 0 : static_cast<int64_t>(answers.size());
}

jinja::Value ConversationReader::Messages(const Record& right, const WrongAnswer* wrong) const {
  PromptTask task = PolicyTask(ParseProgram(right.program), AskStrictly(right, options_));
  task.source = right.reference;
  std::vector<ChatMessage> messages = MessagesOf(prompt_, ValuesOf(prompt_, task, prompt_.body));
  if (wrong != nullptr) AskForRepair(&messages, wrong->text, wrong->outcome, wrong->rule, wrong->reason);
  messages.push_back({"assistant", FormatAnswer(right.thoughts, right.plan, right.source)});
  return ToJson(messages);
}

}  // namespace tritogen::train
