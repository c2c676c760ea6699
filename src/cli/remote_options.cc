#include "cli/remote_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "propose/inductor_proposer.h"
#include "propose/remote_proposer.h"
#include "propose/teacher_proposer.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr std::string_view kRemote = "remote:";
constexpr size_t kMostPromptBytes = 1 << 20;

// A built-in prompt, or a file with one.
PromptTemplate PromptNamed(const std::string& name) {
  const bool file = name.find('/') != std::string::npos || name.ends_with(".txt");
  return file ? ParsePrompt(name, ReadFile(name, kMostPromptBytes)) : FindPrompt(name);
}

json ExtraBody(const ProposerOptions& options) {
  json extra = json::object();
  if (!options.extra.empty()) {
    extra = json::parse(options.extra, nullptr, false);
    if (!extra.is_object()) throw UserError("--body: expected one JSON object, like '{\"top_k\": 20}'");
  }
  if (options.max_tokens) extra["max_tokens"] = *options.max_tokens;
  if (options.temperature) extra["temperature"] = *options.temperature;
  if (options.top_p) extra["top_p"] = *options.top_p;
  return extra;
}

std::string TakeFromEnvironment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  std::string taken = value == nullptr ? "" : value;
  unsetenv(variable.c_str());
  return taken;
}

ChatClientOptions ChatClientOptionsFor(const ProposerOptions& options, const std::string& url,
                                       const std::string& key) {
  const char* ca_file = std::getenv("SSL_CERT_FILE");
  return {.url = url,
          .model = options.model,
          .key = key,
          .key_variable = options.key_variable,
          .ca_file = ca_file == nullptr ? "" : ca_file,
          .concurrency = options.concurrency,
          .retries = options.retries,
          .retry_wait_seconds = options.retry_wait_seconds,
          .idle_seconds = options.idle_seconds,
          .total_seconds = options.timeout_seconds,
          .stream = !options.no_stream,
          .extra = ExtraBody(options),
          .prices = {options.prompt_price, options.completion_price},
          .cost_log = options.cost_log};
}

}  // namespace

void ProposerOptions::AddTo(CLI::App* app) {
  app->add_option(
         "--proposer", proposers,
         "who writes candidates: teacher, remote:URL of an OpenAI-compatible endpoint; may be given more "
         "than once")
      ->allow_extra_args(false)
      ->capture_default_str();
  AddRemoteTo(app);
}

void ProposerOptions::AddRemoteTo(CLI::App* app) {
  auto* group = app->add_option_group("Remote model", "for --proposer remote:URL; docs/remote.md says more");
  group->add_option("--model", model, "its name");
  group->add_option("--prompt", prompt, "how it is asked: a name, or a file with a template")
      ->capture_default_str();
  group
      ->add_option("--prompt-body", body,
                   "what it is shown: source, program or both (default: the prompt's own)")
      ->check(CLI::IsMember({"source", "program", "both"}));
  group->add_option("--key-variable", key_variable, "environment variable that holds the key")
      ->capture_default_str();
  group->add_option("--temperature", temperature, "of sampling")->check(CLI::Range(0.0, 10.0));
  group->add_option("--top-p", top_p, "of sampling")->check(CLI::Range(0.0, 1.0));
  group->add_option("--max-tokens", max_tokens, "of one answer")->check(CLI::PositiveNumber);
  group->add_option("--body", extra, "more members of each request, as one JSON object");
  group->add_option("--concurrency", concurrency, "requests at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  group->add_option("--retries", retries, "after the first try")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  group
      ->add_option("--retry-wait", retry_wait_seconds,
                   "seconds before the first retry; doubled for each later one")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  group->add_option("--timeout", timeout_seconds, "seconds for one answer, retries included")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  group->add_option("--idle-timeout", idle_seconds, "seconds without a byte")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  group->add_flag("--no-stream", no_stream, "ask for answers as a whole");
  group->add_option("--cost-log", cost_log, "append a line of JSON for each request to this file");
  group->add_option("--prompt-price", prompt_price, "dollars for a million tokens read")
      ->check(CLI::NonNegativeNumber);
  group->add_option("--completion-price", completion_price, "dollars for a million tokens written")
      ->check(CLI::NonNegativeNumber);
}

std::vector<std::unique_ptr<Proposer>> ProposerOptions::Make(const Context& context) const {
  const std::string key = TakeFromEnvironment(key_variable);
  std::vector<std::unique_ptr<Proposer>> made;
  for (const std::string& name : proposers) {
    if (name == "teacher") {
      made.push_back(std::make_unique<TeacherProposer>());
    } else if (name == "inductor") {
      made.push_back(
          std::make_unique<InductorProposer>(InductorOptions{context.python, context.worker_folder}));
    } else if (name.starts_with(kRemote)) {
      RemoteOptions remote{.chat = ChatClientOptionsFor(*this, name.substr(kRemote.size()), key),
                           .prompt = PromptNamed(prompt),
                           .must_answer = context.must_answer,
                           .progress = context.progress};
      remote.chat.give_up = context.give_up;
      if (const PromptBody* named = PromptBodyNamed(body)) remote.body = *named;
      if (!context.device.empty()) remote.device = context.device;
      made.push_back(std::make_unique<RemoteProposer>(std::move(remote)));
    } else {
      throw UserError(fmt::format("proposer {}: there are teacher, inductor and remote:URL", name));
    }
  }
  return made;
}

}  // namespace tritogen
