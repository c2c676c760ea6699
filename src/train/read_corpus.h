// Conversations → Corpus.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/conversations.h"
#include "train/corpus.h"
#include "train/example.h"

namespace tritogen::train {

struct CorpusCounts : LineCounts {
  int64_t too_long = 0;
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

// All examples of at most `longest` tokens, in the order of files and lines, then repairs, as many as their
// share allows. The same for any number of threads (0: one a core). Nothing when `stop` said so. Throws
// UserError naming file and line as ConversationReader does; for what the chat template or ExampleMaker
// refuses; where no example is left.
std::optional<CorpusRead> ReadCorpus(const CorpusOptions& options, const ChatFormat& format, int64_t longest,
                                     int threads = 0, const ReadHooks& hooks = {});

}  // namespace tritogen::train
