// Files that an evaluation reads: tasks of a suite, results of an earlier run; and the page that shows them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/json_text.h"
#include "eval/score.h"
#include "eval/task.h"
#include "report/eval_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    eval::ReadTasks(text, "fuzz.jsonl");
  } catch (const UserError&) {
  }
  try {
    eval::Score score;
    const nlohmann::json json = ParseJson(text);
    RenderEvalReport("fuzz", nlohmann::ordered_json(json), {});
    score.Add(json);
    RenderEvalReport("fuzz", score.ToJson(), {});
  } catch (const FormatError&) {
  }
  return 0;
}
