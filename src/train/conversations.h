// Data sets and files of JSON lines → conversations, a block at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_team.h"
#include "config/fields.h"
#include "data/shard.h"
#include "text/chat_template.h"
#include "text/prompt.h"
#include "train/repair.h"

namespace tritogen::train {

// What is read, and how it is put. docs/training_data.md explains every key.
struct CorpusOptions {
  // Folders of sets (finished or not), single shards, and files of JSON lines, each a record or
  // {"messages": […]}; .zst or plain.
  std::vector<std::string> data;
  std::vector<std::string> wrong;  // files of wrong answers (repair.h) to programs of `data`
  std::string split = "train";     // "train", "test"; lines that name no split are on every side
  std::string prompt = "embedded";
  int64_t most = 0;           // examples, drawn from all; 0: all
  double repair_share = 0.1;  // of the examples, at most
  double hybrid_share = 0.1;  // of the answers that keep to strict mode, asked for in hybrid mode
  // Of conversations whose program was always answered right when they were sampled (`eval --conversations`
  // says `answers_passed`): who learns from its own answers knows these.
  double known_share = 1;
  uint64_t seed = 1;
};

void Describe(config::Fields* fields, CorpusOptions* options);

struct Conversation {
  jinja::Value messages;  // as they came, but for records' and repairs', which are well-formed
  std::string place;      // "sets/a/shard-00001.jsonl.zst, line 7"
  bool repair = false;
};

// What became of the lines that were read.
struct LineCounts {
  int64_t lines = 0, other_split = 0, not_passed = 0, known = 0;
  // Of the train split: answers of CorpusOptions::wrong to programs without a right one, which teach nothing.
  int64_t unpaired = 0;
};

class ConversationReader {
 public:
  // Both outlive it. Throws UserError: a file or folder that is not there, broken infos, wrong answers or
  // prompts.
  ConversationReader(const CorpusOptions& options, ThreadTeam* team);
  ~ConversationReader();

  // The next ones, in the order of files and lines, repairs behind their file's. False: there are no more.
  // Throws UserError naming file and line: damaged or empty files, malformed lines.
  bool Next(std::vector<Conversation>* block);

  const LineCounts& counts() const { return counts_; }
  int64_t bytes_done() const;  // of files
  int64_t bytes() const { return bytes_; }

 private:
  struct Source;
  struct OpenFile;
  void FindSources();
  void Open(const Source& source);
  void ReadBlock(std::vector<Conversation>* block);
  void MakeRepairs(std::vector<Conversation>* block);
  void CountUnpaired();
  jinja::Value Messages(const data::Record& right, const WrongAnswer* wrong) const;

  const CorpusOptions& options_;
  ThreadTeam* team_;
  const PromptTemplate& prompt_;
  WrongAnswers wrong_;
  std::set<std::string_view> paired_;  // programs of wrong_
  std::vector<Source> sources_;
  size_t next_source_ = 0;
  std::unique_ptr<OpenFile> file_;
  LineCounts counts_;
  int64_t bytes_ = 0, bytes_done_ = 0;
};

}  // namespace tritogen::train
