#include "propose/chat_model.h"

#include "base/error.h"

namespace tritogen {

std::vector<ChatResult> ChatModel::Ask(const std::vector<ChatRequest>& requests) {
  constexpr double kPollSeconds = 0.2;
  TRITOGEN_CHECK(unfinished() == 0);
  std::vector<ChatResult> results(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) Submit(std::to_string(i), requests[i]);
  while (unfinished() > 0) {
    if (give_up && give_up()) Cancel();
    if (auto one = Next(kPollSeconds)) results[std::stoul(one->id)] = std::move(one->result);
  }
  return results;
}

}  // namespace tritogen
