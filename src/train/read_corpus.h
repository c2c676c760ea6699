// Data sets and files of conversations → Corpus.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.h"
#include "train/corpus.h"
#include "train/example.h"

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
  uint64_t seed = 1;
};

void Describe(config::Fields* fields, CorpusOptions* options);

// What became of the lines.
struct CorpusCounts {
  int64_t lines = 0;
  int64_t other_split = 0, not_passed = 0;
  int64_t too_long = 0;               // examples, repairs among them
  int64_t examples = 0, repairs = 0;  // in the corpus; repairs are among the examples

  // "9000 examples (300 of them repairs) of 9607 lines; 600 of the other split; 7 longer than 2048 tokens"
  std::string ToText(int64_t longest) const;
};

struct ReadHooks {
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};  // bytes of files
  std::function<bool()> stop = [] { return false; };
};

struct CorpusRead {
  Corpus corpus;
  CorpusCounts counts;
};

// All examples of at most `longest` tokens, in the order of files and lines, then repairs. The same for any
// number of threads (0: one a core). Nothing when `stop` said so. Throws UserError naming file and line: what
// is missing, damaged, malformed or empty, what the chat template refuses; and where no example is left.
std::optional<CorpusRead> ReadCorpus(const CorpusOptions& options, const ChatFormat& format, int64_t longest,
                                     int threads = 0, const ReadHooks& hooks = {});

}  // namespace tritogen::train
