// For tests: a small set without Python, a chat format in memory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "data/data_test_util.h"
#include "text/bpe_trainer.h"
#include "train/new_policy.h"
#include "train/read_corpus.h"

namespace tritogen::train {

// A program of one operation on [4, n], and an answer to it that ExtractAnswer takes.
inline data::Record SmallRecord(int64_t draw, int answer = 0, const std::string& split = "train") {
  const std::string program = fmt::format(
      "import torch\n\n\ndef program(x0):\n    # x0: float32[4, {0}]\n    relu = torch.relu(x0)  # "
      "float32[4, {0}]\n"
      "    return relu\n",
      draw + 1);
  return {
      .draw = draw,
      .program = program,
      .reference = "import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n",
      .split = split,
      .level = 1,
      .answer = answer,
      .plan = fmt::format("1. Access pattern: {} elements.\n2. Launch: way {}.\n", 4 * (draw + 1), answer),
      .source =
          fmt::format("import triton\n\n\n@triton.jit\ndef relu_kernel(x0):\n    pass\n\n\nclass ModelNew:\n"
                      "    n = {}\n",
                      4 * (draw + 1)),
      .verdict = "passed",
      .work_flops = 1,
      .work_bytes = 1};
}

inline std::string LinesOf(const std::vector<data::Record>& records) {
  std::string lines;
  for (const data::Record& record : records) lines += ToLine(record) + "\n";
  return lines;
}

// A shard with its failures and its info.
inline data::ShardInfo WriteShard(const std::filesystem::path& folder, int64_t index,
                                  const std::vector<data::Record>& records,
                                  const std::vector<data::Record>& failures = {}) {
  std::filesystem::create_directories(folder);
  data::ShardInfo info{.index = index, .first = 8 * index, .draws = 8};
  info.records = data::WriteLines(folder / data::ShardName(index), LinesOf(records));
  info.failures = data::WriteLines(folder / data::FailuresName(index), LinesOf(failures));
  info.tally.records = info.records.records;
  WriteFileAtomic(folder / data::InfoName(index), ToJson(info).dump());
  return info;
}

// The policy's template and split with a vocabulary of bytes and a few words.
inline ChatFormat SmallFormat(std::string_view chat_template = kPolicyTemplate) {
  BpeTrainer trainer(PolicySkeleton(), {.vocabulary = 300,
                                        .special_tokens = {"<|endoftext|>", "<|end|>", "<|system|>",
                                                           "<|user|>", "<|assistant|>"}});
  trainer.Add(data::ToLine(SmallRecord(1)));
  return {Tokenizer(trainer.Train()), ChatTemplate(chat_template), {1}};
}

}  // namespace tritogen::train
