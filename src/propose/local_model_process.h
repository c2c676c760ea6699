// The other end of a LocalModel: the process in which the model is.
#pragma once

#include <functional>

#include "propose/local_model.h"

namespace tritogen {

// Frames (base/frame.h) in: {"ticket", "messages", "samples", "seed"} asks, {"cancel"} ends what runs. Out:
// {"ticket", "sample", "text", "finish", "tokens", "prompt_tokens"} or {"ticket", "sample", "failure"}, and
// once {"fault", "user"}: there is no model. Returns when the other end is closed.
void ServeModel(int fd, const std::function<LoadedModel()>& open);

}  // namespace tritogen
