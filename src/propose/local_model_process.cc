#include "propose/local_model_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/frame.h"

namespace tritogen {
namespace {

using nlohmann::json;

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool ReadAll(int fd, size_t bytes, std::string* out) {
  out->resize(bytes);
  for (size_t at = 0; at < bytes;) {
    const ssize_t count = read(fd, out->data() + at, bytes - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

// Frames of several threads, written by one of its own: the engine's thread must never wait for a reader.
class Outbox {
 public:
  explicit Outbox(int fd) : thread_([this, fd] { Work(fd); }) {}
  ~Outbox() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Put(const json& message) {
    std::string frame = EncodeFrame(message);
    {
      const std::lock_guard lock(mutex_);
      bytes_ += frame;
    }
    changed_.notify_all();
  }

 private:
  void Work(int fd) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ended_ || !bytes_.empty(); });
      if (bytes_.empty()) return;
      const std::string bytes = std::exchange(bytes_, {});
      lock.unlock();
      const bool written = WriteAll(fd, bytes);
      lock.lock();
      if (!written) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  bool ended_ = false;
  std::thread thread_;
};

const char* NameOf(FinishReason reason) {
  return reason == FinishReason::kLength ? "length" : "stop";
}

json ReplyFrame(int64_t ticket, int64_t prompt_tokens, const Chunk& chunk) {
  json frame = {{"ticket", ticket}, {"sample", chunk.index}};
  if (*chunk.finish == FinishReason::kCancelled) {
    frame["failure"] = "stopped before it answered";
    frame["cancelled"] = true;
  } else if (*chunk.finish == FinishReason::kError) {
    frame["failure"] = chunk.error;
  } else {
    frame["text"] = chunk.text;
    frame["finish"] = NameOf(*chunk.finish);
    frame["tokens"] = chunk.samples.size();
    frame["prompt_tokens"] = prompt_tokens;
  }
  return frame;
}

class ModelServer {
 public:
  ModelServer(LoadedModel model, Outbox* outbox)
      : model_(std::move(model)), encoder_(*model_.tokenizer), outbox_(outbox) {}

  void Take(const json& message) {
    if (message.contains("cancel")) {
      for (const RequestId id : running_) model_.generator->Cancel(id);
      running_.clear();
      return;
    }
    const int64_t ticket = message.at("ticket");
    const int samples = message.at("samples");
    try {
      Submit(ticket, samples, message);
    } catch (const std::exception& error) {  // UserError: it cannot be asked; others: the runner has failed
      for (int i = 0; i < samples; ++i)
        outbox_->Put({{"ticket", ticket}, {"sample", i}, {"failure", error.what()}});
    }
  }

 private:
  void Submit(int64_t ticket, int samples, const json& message) {
    // Special tokens stand where the template puts them; those in a program or an answer are text, but for a
    // rendered conversation the two cannot be told apart any more.
    const std::string text = model_.chat_template.Render(jinja::Value(message.at("messages")));
    Request request{.prompt = encoder_.Encode(text, {.add_special_tokens = false}),
                    .options = model_.options,
                    .n = samples,
                    .stream = false};
    request.options.sampling.seed = message.at("seed");
    const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
    running_.push_back(model_.generator->Submit(
        std::move(request),
        [this, ticket, prompt_tokens](const Chunk& chunk) { Collect(ticket, prompt_tokens, chunk); }));
  }

  // On the engine's thread. A generator may stream all the same.
  void Collect(int64_t ticket, int64_t prompt_tokens, const Chunk& chunk) {
    const std::lock_guard lock(mutex_);
    Chunk& whole = parts_[{ticket, chunk.index}];
    whole.index = chunk.index;
    whole.text += chunk.text;
    whole.samples.insert(whole.samples.end(), chunk.samples.begin(), chunk.samples.end());
    if (!chunk.finish) return;
    whole.finish = chunk.finish;
    whole.error = chunk.error;
    outbox_->Put(ReplyFrame(ticket, prompt_tokens, whole));
    parts_.erase({ticket, chunk.index});
  }

  std::mutex mutex_;
  std::map<std::pair<int64_t, int32_t>, Chunk> parts_;
  LoadedModel model_;
  Encoder encoder_;
  Outbox* outbox_;
  std::vector<RequestId> running_;
};

}  // namespace

void ServeModel(int fd, const std::function<LoadedModel()>& open) {
  std::optional<LoadedModel> model;
  json fault;
  try {
    model = open();  // before there are threads: a model on several GPUs forks processes
  } catch (const std::exception& error) {
    fault = {{"fault", error.what()}, {"user", dynamic_cast<const UserError*>(&error) != nullptr}};
  }
  Outbox outbox(fd);
  if (!model) return outbox.Put(fault);
  ModelServer server(std::move(*model), &outbox);
  std::string header, body;
  while (ReadAll(fd, kFrameHeaderBytes, &header) && ReadAll(fd, FrameBodyBytes(header), &body))
    server.Take(DecodeFrame(header + body));
}

}  // namespace tritogen
