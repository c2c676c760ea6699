// rewrite: a model turns answers (Inductor's, say) into ones that a person would write. The rewritten answer
// comes beside the old one and is judged like any other; where the model fails, the old one stays alone.
#include "data/ask.h"
#include "data/stages.h"
#include "text/answer.h"

namespace tritogen::data {
namespace {

class Rewrite : public Stage {
 public:
  std::string_view name() const override { return "rewrite"; }
  Place place() const override { return Place::kAnswer; }

  void Describe(config::Fields* f) override {
    f->Text("of", &of_);
    f->Bool("keep_original", &keep_original_);
  }

  void Run(std::vector<Record>* batch, const StageTools& tools) override {
    if (ChatOf(tools) == nullptr) return;  // this teacher has no model to ask
    std::vector<const Record*> asked;
    for (const Record& record : *batch) {
      if (record.teacher == of_) asked.push_back(&record);
    }
    const auto replies = AskAbout(asked, tools, FindPrompt("rewrite"));
    std::vector<Record> result;
    size_t next = 0;
    for (const Record& record : *batch) {
      std::optional<Record> rewritten;
      if (record.teacher == of_ && replies[next++]) rewritten = Rewritten(record, *replies[next - 1]);
      if (!rewritten || keep_original_) result.push_back(record);
      if (rewritten) result.push_back(std::move(*rewritten));
    }
    *batch = std::move(result);
  }

 private:
  static std::optional<Record> Rewritten(const Record& record, const ChatReply& reply) {
    auto extracted = ExtractAnswer(reply.content, {.form = AnswerForm::kClass, .entry = "ModelNew"});
    auto* answer = std::get_if<Answer>(&extracted);
    if (answer == nullptr) return std::nullopt;
    Record rewritten = record;
    rewritten.strategy += ", rewritten";
    rewritten.source = std::move(answer->code);
    if (answer->steps) rewritten.plan = answer->steps->ToText();
    return rewritten;
  }

  std::string of_ = "inductor";  // whose answers
  bool keep_original_ = true;
};

}  // namespace

std::unique_ptr<Stage> MakeRewrite() {
  return std::make_unique<Rewrite>();
}

}  // namespace tritogen::data
