// Greedy generation by the CPU runner, for bench/cpu_generate_bench.py: one request a line, one answer a
// line.
//   {"load": FOLDER, "int8": BOOL, "threads": N}       makes the runner
//   {"prompts": [[ID, …], …], "new": N}                {"prefill_s": S, "decode_s": S, "tokens": [[ID, …],
//   …]}
#include <chrono>
#include <ctime>
#include <iostream>

#include "base/json_text.h"
#include "model/model_folder.h"
#include "runner/cpu_runner.h"

namespace tritogen {
namespace {

using nlohmann::json;

struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::clock_t cpu_start = std::clock();
  json Read() const {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC};
  }
};

std::unique_ptr<Runner> MakeRunner(const json& request) {
  CpuRunnerOptions options;
  options.int8_weights = request["int8"];
  options.threads = request["threads"];
  return MakeCpuRunner(std::make_shared<DecoderWeights>(
                           LoadDecoder(request["load"].get<std::string>(), std::nullopt, at::kCPU)),
                       options);
}

struct Text {
  std::vector<TokenId> prompt, answer;
  std::vector<int32_t> blocks;
};

std::vector<Text> TextsOf(const json& request, const RunnerLimits& limits) {
  std::vector<Text> texts;
  int32_t block = 0;
  for (const json& prompt : request["prompts"]) {
    Text& text = texts.emplace_back();
    text.prompt = prompt.get<std::vector<TokenId>>();
    const size_t positions = text.prompt.size() + request["new"].get<size_t>();
    for (size_t at = 0; at < positions; at += static_cast<size_t>(limits.block_tokens))
      text.blocks.push_back(block++);
  }
  return texts;
}

void Prefill(Runner* runner, const std::vector<Text>& texts) {
  SamplingOptions greedy;
  greedy.temperature = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    Batch step;
    step.starts.push_back({static_cast<int32_t>(i), greedy, {}});
    step.prefill.push_back(
        {0, std::span(texts[i].prompt).first(texts[i].prompt.size() - 1), texts[i].blocks});
    runner->Submit(step);
    runner->Wait();
  }
}

void Decode(Runner* runner, int32_t draw, std::vector<Text>* texts) {
  Batch step;
  for (size_t i = 0; i < texts->size(); ++i) {
    const Text& text = (*texts)[i];
    step.decode.push_back({static_cast<int32_t>(i), static_cast<int32_t>(text.prompt.size()) - 1 + draw,
                           draw == 0 ? text.prompt.back() : DecodeRow::kLast, draw, text.blocks});
  }
  runner->Submit(step);
  const auto samples = runner->Wait();
  for (size_t i = 0; i < texts->size(); ++i) (*texts)[i].answer.push_back(samples[i].chosen.token);
}

json Generate(Runner* runner, const json& request) {
  std::vector<Text> texts = TextsOf(request, runner->limits());
  const Stopwatch prefill;
  Prefill(runner, texts);
  json answer = {{"prefill", prefill.Read()}, {"tokens", json::array()}};
  const Stopwatch decode;
  for (int32_t draw = 0; draw < request["new"].get<int32_t>(); ++draw) Decode(runner, draw, &texts);
  answer["decode"] = decode.Read();
  for (const Text& text : texts) answer["tokens"].push_back(text.answer);
  return answer;
}

}  // namespace
}  // namespace tritogen

int main() {
  std::unique_ptr<tritogen::Runner> runner;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = tritogen::ParseJson(line);
    if (request.contains("load")) {
      runner = tritogen::MakeRunner(request);
      std::cout << "{}" << std::endl;
    } else {
      std::cout << tritogen::Generate(runner.get(), request) << std::endl;
    }
  }
}
