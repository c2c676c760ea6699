// difficulty: labels records by how hard their program is. Three labels, as far as each can be known:
//   "difficulty"         1, 2 or 3 as TritonRL's levels mean it, from the program alone: one operation; a few
//                        that fuse; more, or several that move work between programs (products, reductions)
//   "answers_passed"     share of the program's answers in this build that passed, 0 to 1: measured, not said
//   "difficulty_model"   the level that a model says (where the teacher has one)
#include <map>

#include "data/ask.h"
#include "data/stages.h"
#include "program/catalogue.h"
#include "text/answer.h"

namespace tritogen::data {
namespace {

constexpr int kFewOperations = 5;  // DRTriton's longest stage of training
constexpr int kFewHeavy = 2;

// Operations whose results need more than the element at their own place.
bool IsHeavy(const Node& node) {
  const std::string base(BaseName(node.op));
  static const char* const kWords[] = {"mm",      "matmul", "linear", "conv", "attention", "norm",
                                       "softmax", "sum",    "mean",   "var",  "std",       "max",
                                       "min",     "prod",   "cum",    "sort", "topk",      "pool"};
  for (const char* word : kWords) {
    if (base.find(word) != std::string::npos && base != "maximum" && base != "minimum") return true;
  }
  return false;
}

class Difficulty : public Stage {
 public:
  std::string_view name() const override { return "difficulty"; }
  Place place() const override { return Place::kVerdict; }

  void Run(std::vector<Record>* batch, const StageTools& tools) override {
    std::map<int64_t, std::pair<int, int>> by_draw;  // answers, passed
    std::map<int64_t, const Record*> first;
    for (const Record& record : *batch) {
      auto& [answers, passed] = by_draw[record.draw];
      ++answers;
      passed += record.verdict == "passed";
      first.emplace(record.draw, &record);
    }
    const std::map<int64_t, int> said = Said(first, tools);
    for (Record& record : *batch) {
      const auto& [answers, passed] = by_draw.at(record.draw);
      record.labels["difficulty"] = LevelOf(record);
      record.labels["answers_passed"] = static_cast<double>(passed) / answers;
      if (const auto found = said.find(record.draw); found != said.end())
        record.labels["difficulty_model"] = found->second;
    }
  }

 private:
  static int LevelOf(const Record& record) {
    if (record.level <= 1) return 1;
    int heavy = 0;
    if (record.parsed != nullptr) {
      for (const Node& node : record.parsed->nodes) heavy += node.kind == NodeKind::kOp && IsHeavy(node);
    }
    return record.level <= kFewOperations && heavy <= kFewHeavy ? 2 : 3;
  }

  // One question for each program; an answer that is no level is none.
  static std::map<int64_t, int> Said(const std::map<int64_t, const Record*>& programs,
                                     const StageTools& tools) {
    std::map<int64_t, int> said;
    if (ChatOf(tools) == nullptr) return said;
    std::vector<const Record*> asked;
    for (const auto& [draw, record] : programs) asked.push_back(record);
    const auto replies = AskAbout(asked, tools, FindPrompt("difficulty"));
    for (size_t i = 0; i < asked.size(); ++i) {
      const auto parts = replies[i] ? SplitThoughts(replies[i]->content) : std::nullopt;
      if (!parts) continue;
      const size_t digit = parts->rest.find_first_of("0123456789");
      if (digit == std::string::npos ||
          parts->rest.find_first_of("0123456789", digit + 1) != std::string::npos)
        continue;
      const int level = parts->rest[digit] - '0';
      if (level >= 1 && level <= 3) said[asked[i]->draw] = level;
    }
    return said;
  }
};

}  // namespace

std::unique_ptr<Stage> MakeDifficulty() {
  return std::make_unique<Difficulty>();
}

}  // namespace tritogen::data
