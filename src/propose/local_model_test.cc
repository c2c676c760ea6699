#include "propose/local_model.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/atomic_file.h"
#include "base/error.h"
#include "serve/generator_double.h"

namespace tritogen {
namespace {

using serve::GeneratorDouble;

LoadedModel Open(double step_seconds = 0) {
  auto tokenizer = std::make_unique<const Tokenizer>(
      LoadTokenizer(TRITOGEN_SOURCE_DIR "/tests/golden/tokenizers/qwen3.json"));
  ChatTemplate chat_template{ReadFile(TRITOGEN_SOURCE_DIR "/tests/golden/chat/qwen3.jinja")};
  auto generator = std::make_unique<GeneratorDouble>(
      *tokenizer, serve::GeneratorDoubleOptions{.step_seconds = step_seconds});
  GenerateOptions options{.sampling = {.temperature = 0}, .max_tokens = 6};
  return {std::move(tokenizer), std::move(chat_template), options, std::move(generator)};
}

std::vector<ChatModel::Done> All(LocalModel* model) {
  std::vector<ChatModel::Done> all;
  while (model->unfinished() > 0) {
    if (auto done = model->Next(5)) all.push_back(std::move(*done));
  }
  return all;
}

TEST(LocalModel, AnswersManyRequestsInAProcessOfItsOwn) {
  LocalModel model("double", [] { return Open(); });
  for (int i = 0; i < 50; ++i)
    model.Submit(std::to_string(i), {.messages = {{"user", "hello"}}, .samples = 3, .seed = 7});
  const auto all = All(&model);
  ASSERT_EQ(all.size(), 150u);
  std::set<std::pair<std::string, int>> seen;
  for (const auto& done : all) {
    seen.emplace(done.id, done.sample);
    const auto& reply = std::get<ChatReply>(done.result);
    EXPECT_TRUE(std::string(GeneratorDouble::kGreedyText).starts_with(reply.content)) << reply.content;
    EXPECT_EQ(reply.completion_tokens, 6);
    EXPECT_TRUE(reply.cut_off());
    EXPECT_GT(*reply.prompt_tokens, 3);
  }
  EXPECT_EQ(seen.size(), 150u);
  EXPECT_FALSE(model.Next(0));
}

TEST(LocalModel, WhatCannotBeAskedOrFailsIsASentence) {
  LocalModel model("double", [] { return Open(); });
  model.Submit("fails", {.messages = {{"user", GeneratorDouble::kFailure}}});
  model.Submit("refused",
               {.messages = {{"user", "hello"}}, .samples = 2, .seed = GeneratorDouble::kRefusedSeed});
  model.Submit("good", {.messages = {{"user", "hello"}}});
  std::map<std::string, std::string> messages;
  for (const auto& done : All(&model)) {
    const auto* failure = std::get_if<ChatFailure>(&done.result);
    messages[done.id] = failure == nullptr ? "" : failure->message;
  }
  EXPECT_EQ(messages["good"], "");
  EXPECT_EQ(messages["fails"], "double: the double failed, as asked");
  EXPECT_EQ(messages["refused"], "double: the double does not like this seed");
}

TEST(LocalModel, CancelEndsWhatRuns) {
  LocalModel model("double", [] { return Open(/*step_seconds=*/1); });
  for (int i = 0; i < 100; ++i) model.Submit(std::to_string(i), {.messages = {{"user", "hello"}}});
  model.Cancel();
  const auto start = std::chrono::steady_clock::now();
  int cancelled = 0;
  for (const auto& done : All(&model)) {
    const auto* failure = std::get_if<ChatFailure>(&done.result);
    cancelled += failure != nullptr && failure->kind == ChatFailure::Kind::kCancelled;
  }
  EXPECT_GT(cancelled, 90);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST(LocalModel, AModelThatCannotBeOpenedSaysWhy) {
  LocalModel refused("bad", []() -> LoadedModel { throw UserError("there is no such folder"); });
  refused.Submit("1", {.messages = {{"user", "hello"}}});
  EXPECT_THROW(
      {
        try {
          while (true) refused.Next(5);
        } catch (const UserError& error) {
          EXPECT_STREQ(error.what(), "there is no such folder");
          throw;
        }
      },
      UserError);
  LocalModel crashed("crash", []() -> LoadedModel { _exit(7); });
  try {
    for (int i = 0; i < 100; ++i) {
      crashed.Submit(std::to_string(i), {.messages = {{"user", "hello"}}});
      crashed.Next(5);
    }
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("exit status 7"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tritogen
