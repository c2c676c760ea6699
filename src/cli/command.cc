#include "cli/command.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/fields.h"

namespace tritogen {
namespace {

constexpr Command kCommands[] = {
    {"convert", "turn a PyTorch file into a verified module with Triton kernels", RunConvert},
    {"verify", "judge a candidate against a reference, or many with --batch", RunVerify},
    {"program", "show the canonical program of a PyTorch file, as text or as a picture", RunProgram},
    {"synth", "random PyTorch programs with sizes drawn uniformly, as JSON lines", RunSynth},
    {"data", "build, look at and export sets of verified answers", RunData},
    {"eval", "pass@k of a model or any proposer, verified, with reasons for failures", RunEval},
    {"bench", "measure parts of Tritogen on this machine", RunBench},
    {"new-model", "a small model to train from scratch: vocabulary from data, fresh weights", RunNewModel},
    {"generate", "answers of a language model to one prompt or a file of them", RunGenerate},
    {"serve", "a language model behind OpenAI's HTTP endpoints", RunServe},
    {"sft", "train a language model on sets of verified answers", RunSft},
    {"doctor", "what was found on this machine, what is missing, how to get it", RunDoctor},
};

}  // namespace

std::span<const Command> Commands() {
  return kCommands;
}

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: ./tritogen COMMAND [OPTIONS]\n\n");
  for (const Command& command : kCommands) std::fprintf(out, "  %-9s %s\n", command.name, command.summary);
  std::fprintf(out, "  %-9s %s\n", "test", "build and run every test");
  std::fprintf(out, "  %-9s %s\n", "setup", "set up the Python environment and build");
  std::fprintf(out, "\n./tritogen COMMAND --help says more.\n");
}

void RefuseCommand(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  fmt::print(stderr, "tritogen: there is no command '{}'{}\n\n", name, config::DidYouMean(name, names));
  PrintUsage(stderr);
}

}  // namespace tritogen
