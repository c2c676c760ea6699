// explain: for answers that passed, a model writes the request that they answer (label "instruction") and,
// from both, the thoughts that lead to them; AutoTriton's way from verified code back to a chain of thought.
// Thoughts that an answer came with stay.
#include "data/ask.h"
#include "data/stages.h"
#include "text/answer.h"

namespace tritogen::data {
namespace {

class Explain : public Stage {
 public:
  std::string_view name() const override { return "explain"; }
  Place place() const override { return Place::kVerdict; }

  void Describe(config::Fields* f) override { f->Bool("four_steps_needed", &four_steps_needed_); }

  void Run(std::vector<Record>* batch, const StageTools& tools) override {
    if (ChatOf(tools) == nullptr) return;
    std::vector<Record*> passed;
    for (Record& record : *batch) {
      if (record.verdict == "passed" && record.thoughts.empty()) passed.push_back(&record);
    }
    const std::vector<const Record*> asked(passed.begin(), passed.end());
    const auto instructions = AskAbout(asked, tools, FindPrompt("write_instruction"));
    std::vector<Record*> instructed;
    for (size_t i = 0; i < passed.size(); ++i) {
      const std::string text = instructions[i] ? Plain(instructions[i]->content) : "";
      if (text.empty()) continue;
      passed[i]->labels["instruction"] = text;
      instructed.push_back(passed[i]);
    }
    const auto thoughts =
        AskAbout({instructed.begin(), instructed.end()}, tools, FindPrompt("write_thoughts"),
                 [](const Record& record, PromptValues* values) {
                   (*values)["instruction"] = record.labels.at("instruction").get<std::string>();
                 });
    for (size_t i = 0; i < instructed.size(); ++i) {
      const std::string text = thoughts[i] ? Plain(thoughts[i]->content) : "";
      if (text.empty() || (four_steps_needed_ && !FindFourSteps(text).complete())) continue;
      instructed[i]->thoughts = text;
    }
  }

 private:
  // Without the model's own thoughts; empty where it wrote code after all.
  static std::string Plain(std::string_view content) {
    const auto parts = SplitThoughts(content);
    if (!parts || !FencedBlocks(parts->rest).empty()) return "";
    const size_t first = parts->rest.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return "";
    return parts->rest.substr(first, parts->rest.find_last_not_of(" \t\r\n") + 1 - first);
  }

  bool four_steps_needed_ = true;
};

}  // namespace

std::unique_ptr<Stage> MakeExplain() {
  return std::make_unique<Explain>();
}

}  // namespace tritogen::data
