// One thread's rate of training and encoding; tokenizer_bench.py runs it beside Hugging Face's tokenizers.
//   tokenizer_bench train TEXT SIZE OUT.json     a vocabulary of Qwen's kind
//   tokenizer_bench encode TOKENIZER.json TEXT   best of 7 passes over the text's documents (cut at blank
//   lines)
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "base/atomic_file.h"
#include "base/error.h"
#include "text/bpe_trainer.h"
#include "text/tokenizer.h"

namespace tritogen {
namespace {

// Seconds of this thread on a core: other programs of the machine do not count.
double Now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<std::string> Documents(const std::string& text) {
  std::vector<std::string> documents;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find("\n\n\n", at);
    end = end == text.npos ? text.size() : end + 3;
    documents.push_back(text.substr(at, end - at));
    at = end;
  }
  return documents;
}

void Train(const std::string& text, size_t size, const std::string& out) {
  const double start = Now();
  BpeTrainer trainer(QwenSkeleton(), {.vocabulary = size, .special_tokens = {"<|endoftext|>"}});
  for (const auto& document : Documents(text)) trainer.Add(document);
  WriteFileAtomic(out, WriteTokenizerFile(trainer.Train()));
  std::printf("%.3f\n", Now() - start);
}

void Encode(const std::string& path, const std::string& text) {
  double start = Now();
  const Tokenizer tokenizer = LoadTokenizer(path);
  const double load = Now() - start;
  const auto documents = Documents(text);
  double first = 0, best = 1e9;
  std::vector<TokenId> ids;
  Encoder encoder(tokenizer);
  for (int pass = 0; pass < 7; ++pass) {
    ids.clear();
    start = Now();
    for (const auto& document : documents) encoder.Encode(document, {}, &ids);
    best = std::min(best, Now() - start);
    if (pass == 0) first = best;
  }
  uint64_t sum = 0;
  for (const TokenId id : ids) sum = (sum * 1000003 + static_cast<uint64_t>(id)) & 0xffffffff;
  std::printf("{\"load_s\": %.4f, \"first_s\": %.4f, \"best_s\": %.4f, \"tokens\": %zu, \"sum\": %llu}\n",
              load, first, best, ids.size(), static_cast<unsigned long long>(sum));
}

}  // namespace
}  // namespace tritogen

int main(int argc, char** argv) {
  using namespace tritogen;
  const std::string command = argc > 1 ? argv[1] : "";
  try {
    if (command == "train" && argc == 5)
      return Train(ReadFile(argv[2]), std::strtoul(argv[3], nullptr, 10), argv[4]), 0;
    if (command == "encode" && argc == 4) return Encode(argv[2], ReadFile(argv[3])), 0;
  } catch (const UserError& error) {
    std::fprintf(stderr, "tokenizer_bench: %s\n", error.what());
    return 2;
  }
  std::fprintf(stderr, "usage: tokenizer_bench train TEXT SIZE OUT.json | encode TOKENIZER.json TEXT\n");
  return 2;
}
