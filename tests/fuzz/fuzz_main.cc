// Runs a fuzz target (LLVMFuzzerTestOneInput, as for libFuzzer) on mutations of a corpus:
//   fuzz_ttir --iterations 1000000 --seed 1 tests/golden/ttir tests/fuzz/corpus/ttir
// --seconds S ends the run earlier. Iteration i depends on the seed, i and the corpus only. An input that
// crashes, throws or takes too long is written to crash-<iteration>; a path of a file instead of a folder
// runs that file alone, unchanged.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "mutate.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tritogen::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSeedBytes = 8 << 10;  // longer files make slow inputs
constexpr unsigned kSecondsPerInput = 20;

struct Options {
  uint64_t iterations = 10000;
  uint64_t seed = 1;
  double seconds = std::numeric_limits<double>::infinity();
  std::vector<fs::path> paths;
};

// What runs now, for the callbacks of a dying process.
std::string current_input;
uint64_t current_iteration = 0;

void SaveInput() {
  const std::string path = "crash-" + std::to_string(current_iteration);
  if (FILE* file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(current_input.data(), 1, current_input.size(), file);
    std::fclose(file);
    std::fprintf(stderr, "input of iteration %llu is in %s\n",
                 static_cast<unsigned long long>(current_iteration), path.c_str());
  }
}

void OnTimeout(int) {
  std::fprintf(stderr, "an input took more than %u seconds\n", kSecondsPerInput);
  SaveInput();
  _exit(1);
}

void OnAbort(int) {
  SaveInput();
  _exit(1);
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

void RunCurrent() {
  alarm(kSecondsPerInput);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current_input.data()), current_input.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the target threw: %s\n", error.what());
    OnAbort(0);
  }
  alarm(0);
}

std::vector<std::string> ReadCorpus(const std::vector<fs::path>& folders) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.file_size() <= kMaxSeedBytes) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.filename() < b.filename(); });
  std::vector<std::string> corpus;
  for (const fs::path& file : files) corpus.push_back(ReadFile(file));
  return corpus;
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--iterations" || word == "--seed") && i + 1 < argc) {
      (word == "--seed" ? options.seed : options.iterations) = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seconds" && i + 1 < argc) {
      options.seconds = std::strtod(argv[++i], nullptr);
    } else {
      options.paths.emplace_back(word);
    }
  }
  return options;
}

int Main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  std::signal(SIGALRM, OnTimeout);
  std::signal(SIGABRT, OnAbort);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(SaveInput);
#endif
  if (options.paths.size() == 1 && fs::is_regular_file(options.paths[0])) {
    current_input = ReadFile(options.paths[0]);
    RunCurrent();
    return 0;
  }
  const std::vector<std::string> corpus = ReadCorpus(options.paths);
  if (corpus.empty()) {
    std::cerr << "usage: " << argv[0] << " [--iterations N] [--seconds S] [--seed S] CORPUS_FOLDER…\n";
    return 2;
  }
  for (const std::string& seed : corpus) {
    current_input = seed;
    RunCurrent();
  }
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (current_iteration < options.iterations && passed() < options.seconds) {
    Random random(options.seed * 0x100000001b3 + ++current_iteration);
    current_input = Mutate(corpus, random);
    RunCurrent();
  }
  std::printf("%llu inputs from %zu seeds in %.1f s, no crash\n",
              static_cast<unsigned long long>(current_iteration), corpus.size(), passed());
  return 0;
}

}  // namespace
}  // namespace tritogen::fuzz

int main(int argc, char** argv) {
  return tritogen::fuzz::Main(argc, argv);
}
