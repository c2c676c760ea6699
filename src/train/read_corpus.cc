#include "train/read_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen::train {
namespace {

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

Example ExampleAt(const Corpus& corpus, int64_t index) {
  const Corpus::View view = corpus.at(index);
  return {{view.tokens.begin(), view.tokens.end()}, view.plan, view.code};
}

// The examples, and as many repairs as their share and all together as their number allow.
CorpusRead Chosen(Corpus examples, const Corpus& repairs, const CorpusOptions& options) {
  const double share = std::min(options.repair_share, 0.999);
  const auto most_repairs = static_cast<int64_t>(share / (1 - share) * static_cast<double>(examples.size()));
  const std::vector<int64_t> allowed = Subset(repairs.size(), most_repairs, SplitMix::At(options.seed, 0));
  const int64_t plain = examples.size(), all = plain + static_cast<int64_t>(allowed.size());
  CorpusRead read;
  if (options.most == 0 || options.most >= all) {
    for (const int64_t i : allowed) examples.Add(ExampleAt(repairs, i));
    read.counts.repairs = all - plain;
    read.corpus = std::move(examples);
  } else {
    for (const int64_t i : Subset(all, options.most, SplitMix::At(options.seed, 1))) {
      read.corpus.Add(i < plain ? ExampleAt(examples, i) : ExampleAt(repairs, allowed[i - plain]));
      read.counts.repairs += i >= plain;
    }
  }
  read.counts.examples = read.corpus.size();
  return read;
}

}  // namespace

std::string CorpusCounts::ToText(int64_t longest) const {
  std::string text = fmt::format("{} examples", examples);
  if (repairs > 0) text += fmt::format(" ({} of them repairs)", repairs);
  text += fmt::format(" of {} lines", lines);
  if (other_split > 0) text += fmt::format("; {} of the other split", other_split);
  if (not_passed > 0) text += fmt::format("; {} that did not pass", not_passed);
  if (known > 0) text += fmt::format("; {} to programs that were always answered right", known);
  if (too_long > 0) text += fmt::format("; {} longer than {} tokens", too_long, longest);
  if (unpaired > 0)
    text += fmt::format("; {} wrong answers are to programs that have no right one here", unpaired);
  return text;
}

std::optional<CorpusRead> ReadCorpus(const CorpusOptions& options, const ChatFormat& format, int64_t longest,
                                     int threads, const ReadHooks& hooks) {
  ThreadTeam team(threads);
  ConversationReader reader(options, &team);
  std::deque<ExampleMaker> makers;
  for (int i = 0; i < team.size(); ++i) makers.emplace_back(format, longest);
  Corpus examples, repairs;
  int64_t too_long = 0;
  std::vector<Conversation> block;
  while (reader.Next(&block)) {
    if (hooks.stop()) return std::nullopt;
    std::vector<std::optional<Example>> made(block.size());
    team.For(static_cast<int64_t>(block.size()), 8, [&](int thread, int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        try {
          made[i] = makers[thread].Make(block[i].messages);
        } catch (const FormatError& error) {
          throw UserError(fmt::format("{}: {}", block[i].place, error.what()));
        }
      }
    });
    for (size_t i = 0; i < block.size(); ++i) {
      if (made[i]) (block[i].repair ? repairs : examples).Add(*made[i]);
      too_long += !made[i];
    }
    hooks.progress(reader.bytes_done(), reader.bytes());
  }
  CorpusRead read = Chosen(std::move(examples), repairs, options);
  static_cast<LineCounts&>(read.counts) = reader.counts();
  read.counts.too_long = too_long;
  if (read.counts.examples == 0)
    throw UserError(fmt::format("no example is left of the data: {}", read.counts.ToText(longest)));
  return read;
}

}  // namespace tritogen::train
