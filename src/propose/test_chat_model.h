// A ChatModel of tests: what is put into `done` comes out in that order.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "propose/chat_model.h"

namespace tritogen {

class TestChatModel : public ChatModel {
 public:
  const std::string& model() const override { return name_; }
  std::optional<Done> Next(double) override {
    if (done.empty()) return std::nullopt;
    Done first = std::move(done.front());
    done.pop_front();
    return first;
  }
  int unfinished() const override { return static_cast<int>(done.size()); }
  void Cancel() override { done.clear(); }

  std::vector<ChatRequest> asked;
  std::deque<Done> done;

 private:
  std::string name_ = "m";
};

}  // namespace tritogen
