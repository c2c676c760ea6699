#include "data/conversation.h"

#include <fmt/format.h>

#include "text/answer.h"

namespace tritogen::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSystem =
    "You write Triton kernels. Given a PyTorch module, first write a short plan (access pattern, launch, "
    "load-compute-store, wrapper), then one complete Python file in a code block.";

Json Prompt(const Record& record) {
  const std::string user = fmt::format(
      "Write a class {} that computes what Model computes, with Triton kernels in place of PyTorch's "
      "operations.\n\n```python\n{}```\n",
      record.entry, record.reference);
  return Json::array({{{"role", "system"}, {"content", kSystem}}, {{"role", "user"}, {"content", user}}});
}

}  // namespace

Json Conversation(const Record& record) {
  Json messages = Prompt(record);
  messages.push_back(
      {{"role", "assistant"}, {"content", FormatAnswer(record.thoughts, record.plan, record.source)}});
  return {{"messages", messages},
          {"id", record.id()},
          {"split", record.split},
          {"level", record.level},
          {"ops", record.ops}};
}

Json VerlRow(const Record& record, int64_t index) {
  return {{"data_source", "tritogen"},
          {"prompt", Prompt(record)},
          {"ability", "code"},
          {"reward_model", {{"style", "rule"}, {"ground_truth", record.reference}}},
          {"extra_info",
           {{"index", index},
            {"id", record.id()},
            {"split", record.split},
            {"level", record.level},
            {"ops", record.ops},
            {"fingerprint", record.fingerprint},
            {"labels", record.labels.dump()},
            {"answer", FormatAnswer(record.thoughts, record.plan, record.source)}}}};
}

}  // namespace tritogen::data
