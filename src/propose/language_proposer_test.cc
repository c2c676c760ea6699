#include "propose/language_proposer.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/error.h"
#include "program/parse.h"
#include "propose/test_chat_model.h"

namespace tritogen {
namespace {

// Gives the script's texts, one a sample; remembers what it was asked.
class ScriptedModel : public TestChatModel {
 public:
  explicit ScriptedModel(std::deque<ChatResult> script) : script_(std::move(script)) {}
  void Submit(std::string id, const ChatRequest& request) override {
    asked.push_back(request);
    for (int i = 0; i < request.samples; ++i) {
      done.push_back({id, i, script_.at(0)});
      if (script_.size() > 1) script_.pop_front();
    }
  }

 private:
  std::deque<ChatResult> script_;
};

const std::string kCode =
    "import triton\n\n\n@triton.jit\ndef kernel(x):\n    pass\n\n\nclass ModelNew(torch.nn.Module):\n    "
    "pass\n";

ChatReply Says(const std::string& text, const std::string& finish = "stop") {
  ChatReply reply{.content = text, .finish_reason = finish};
  reply.completion_tokens = 5;
  return reply;
}

Program Relu() {
  return ParseProgram(
      "import torch\n\n\ndef program(x):\n    # x: float32[4]\n    y = torch.relu(x)  # float32[4]\n    "
      "return y\n");
}

struct Asked {
  std::unique_ptr<LanguageProposer> proposer;
  ScriptedModel* model;
};

Asked Make(std::deque<ChatResult> script) {
  auto model = std::make_unique<ScriptedModel>(std::move(script));
  ScriptedModel* raw = model.get();
  LanguageOptions options{.name = "policy", .prompt = FindPrompt("embedded"), .as_policy = true};
  return {std::make_unique<LanguageProposer>(std::move(options), std::move(model)), raw};
}

TEST(LanguageProposer, EveryWayToHaveNoCodeIsAVerdictOfItsOwn) {
  const auto asked =
      Make({Says("1. Access pattern: all.\n\n```python\n" + kCode + "```"), Says(""), Says("I cannot."),
            Says("```python\nimport torch\n"), Says("```python\nimport torch\n", "length"),
            Says("```python\nclass ModelNew:\n    pass\n```")});
  const Program program = Relu();
  const auto candidates =
      asked.proposer->Propose({.program = &program, .strict = true, .seed = 3, .count = 6});
  ASSERT_EQ(candidates.size(), 6u);
  EXPECT_EQ(candidates[0].source, kCode);
  EXPECT_EQ(candidates[0].plan, "1. Access pattern: all.");
  EXPECT_EQ(candidates[0].strategy, "m #1");
  EXPECT_EQ(candidates[0].tokens, 5);
  std::vector<std::string> reasons;
  for (const Candidate& candidate : candidates)
    reasons.push_back(candidate.no_answer.substr(0, candidate.no_answer.find(':')));
  EXPECT_EQ(reasons, (std::vector<std::string>{"", "empty", "no_code", "no_entry", "cut_off", "no_kernel"}));
  ASSERT_EQ(asked.model->asked.size(), 1u);  // one prompt for all samples
  EXPECT_EQ(asked.model->asked[0].samples, 6);
  EXPECT_EQ(asked.model->asked[0].seed, 3u);
  EXPECT_NE(asked.model->asked[0].messages.at(0).content.find("cuda, float32, strict\n"), std::string::npos);
}

TEST(LanguageProposer, ARepairIsTheSameConversationWithTheVerdict) {
  const auto asked = Make({Says("```python\n" + kCode + "```")});
  const Program program = Relu();
  const Candidate wrong{.strategy = "m #2", .answer = "my answer"};
  const nlohmann::json verdict = {
      {"verdict", "wrong_values"}, {"rule", nullptr}, {"reason", "output 0 is off"}};
  const auto candidates =
      asked.proposer->Propose({.program = &program, .count = 8, .wrong = &wrong, .verdict = &verdict});
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].strategy, "m #2 repaired");
  const auto& messages = asked.model->asked.at(0).messages;
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1].role + ": " + messages[1].content, "assistant: my answer");
  EXPECT_EQ(messages[2].content, RepairText("wrong_values", "", "output 0 is off"));
  ASSERT_EQ(candidates[0].asked.size(), 3u);  // what it was sent is kept beside what it answered
  EXPECT_EQ(candidates[0].asked[2].content, messages[2].content);
}

TEST(LanguageProposer, AModuleWithStateCallsThePolicysAnswerWithIt) {
  const auto asked = Make({Says("```python\n" + kCode + "```")});
  Program program = Relu();
  program.nodes[0].kind = NodeKind::kParameter;
  program.nodes[0].name = "fc.weight";
  const auto candidates = asked.proposer->Propose({.program = &program,
                                                   .reference_source = "class Net(torch.nn.Module): ...",
                                                   .entry = "Net",
                                                   .count = 1});
  const std::string& source = candidates.at(0).source;
  EXPECT_NE(source.find("class Net(torch.nn.Module): ..."), std::string::npos);
  EXPECT_NE(source.find("_program = ModelNew()"), std::string::npos);
  EXPECT_NE(source.find("return _program(*inputs, self.get_parameter(\"fc.weight\"))"), std::string::npos)
      << source;
}

TEST(LanguageProposer, AModuleWhoseConstructorTakesArgumentsKeepsIt) {
  // Model(1) with no state: the answer's own class could not be constructed so.
  const auto asked = Make({Says("```python\n" + kCode + "```")});
  const Program program = Relu();
  Plan reference;
  reference.init_inputs = {Value{int64_t{1}}};
  reference.inputs = {Value{TensorRef{0}}};
  const auto candidates = asked.proposer->Propose({.reference = &reference,
                                                   .program = &program,
                                                   .reference_source = "class Net(torch.nn.Module): ...",
                                                   .entry = "Net",
                                                   .count = 1});
  const std::string& source = candidates.at(0).source;
  EXPECT_NE(source.find("class ModelNew(Net):"), std::string::npos) << source;
  EXPECT_NE(source.find("return _program(inputs[0])"), std::string::npos) << source;
}

TEST(LanguageProposer, AnAnswerIsGivenWhatLiesInAnArgument) {
  // forward([x]) has as many arguments as the program, but not the same ones.
  const auto asked = Make({Says("```python\n" + kCode + "```")});
  const Program program = Relu();
  const Value x{TensorRef{0}};
  for (const auto& [argument, call] : std::vector<std::pair<Value, std::string>>{
           {x, ""},
           {{Value::List{x}}, "_program(inputs[0][0])"},
           {{Value::Dict{"", {"k", "x"}, {{1.5}, x}}}, "_program(inputs[0][\"x\"])"},
           {{Value::Dict{"Batch", {"x"}, {x}}}, "_program(inputs[0].x)"}}) {
    Plan reference;
    reference.inputs = {argument};
    const auto candidates = asked.proposer->Propose({.reference = &reference,
                                                     .program = &program,
                                                     .reference_source = "class Net(torch.nn.Module): ...",
                                                     .entry = "Net",
                                                     .count = 1});
    const std::string& source = candidates.at(0).source;
    EXPECT_EQ(source.find("_program") != std::string::npos, !call.empty()) << source;
    EXPECT_NE(source.find(call), std::string::npos) << source;
  }
}

TEST(LanguageProposer, ConstantsBecomeBuffersOfTheModuleAroundAnAnswer) {
  const auto asked = Make({Says("```python\n" + kCode + "```")});
  Program program = Relu();
  program.nodes[0].kind = NodeKind::kConstant;
  program.nodes[0].name = "constant_1";
  Plan reference;
  reference.tensors.resize(2);
  reference.tensors[1].dtype = Dtype::kFloat32;
  ConstantStep step;
  step.out = 1;
  step.data = {0, 0, 0x80, 0x3f};
  reference.run.emplace_back(step);
  ProposeRequest request{.reference = &reference,
                         .program = &program,
                         .reference_source = "class Net(torch.nn.Module): ...",
                         .entry = "Net",
                         .count = 1};
  const std::string source = asked.proposer->Propose(request).at(0).source;
  EXPECT_NE(
      source.find("self.register_buffer(\"constant_1\", torch.tensor([1.0], dtype=torch.float32).view([]), "
                  "persistent=False)"),
      std::string::npos)
      << source;
  EXPECT_NE(source.find("return _program(self.get_buffer(\"constant_1\"))"), std::string::npos);
  request.reference = nullptr;  // nobody knows the values
  EXPECT_EQ(asked.proposer->Propose(request).at(0).no_answer.substr(0, 10), "no_module:");
}

TEST(LanguageProposer, AProgramThatItIsNotAskedAboutIsNoFailure) {
  const auto asked = Make({});
  Program program = Relu();
  program.nodes.back().op = "aten::made_up";
  EXPECT_TRUE(asked.proposer->Propose({.program = &program, .count = 2}).empty());
  EXPECT_FALSE(asked.proposer->failed());
}

TEST(LanguageProposer, FailuresAndUnknownOperationsAreRemarks) {
  const auto asked = Make({ChatFailure{ChatFailure::Kind::kBadRequest, "too long"}});
  Program program = Relu();
  EXPECT_TRUE(asked.proposer->Propose({.program = &program, .count = 2}).empty());
  EXPECT_TRUE(asked.proposer->failed());
  program.nodes.back().op = "aten::made_up";
  EXPECT_TRUE(asked.proposer->Propose({.program = &program, .count = 2}).empty());
  EXPECT_EQ(asked.proposer->TakeRemarks(),
            (std::vector<std::string>{
                "policy: the program has aten::made_up, which is no operation of the catalogue",
                "policy: 2 of 2 samples failed: too long"}));
  EXPECT_EQ(asked.model->asked.size(), 1u);
}

TEST(LanguageProposer, ManyProgramsAreAskedAtOnce) {
  const auto asked = Make({Says("no")});
  const Program program = Relu();
  for (const char* id : {"a", "b"}) asked.proposer->Begin(id, {.program = &program, .count = 2});
  std::map<std::string, int> candidates, last;
  while (auto proposal = asked.proposer->Next(0)) {
    candidates[proposal->id] += static_cast<int>(proposal->candidates.size());
    last[proposal->id] += proposal->last;
  }
  EXPECT_EQ(candidates, (std::map<std::string, int>{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(last, (std::map<std::string, int>{{"a", 1}, {"b", 1}}));
}

}  // namespace
}  // namespace tritogen
