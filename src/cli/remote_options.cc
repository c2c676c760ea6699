#include "cli/remote_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/model_session.h"
#include "cli/numbers.h"
#include "config/fields.h"
#include "model/config.h"
#include "propose/chat_client.h"
#include "propose/inductor_proposer.h"
#include "propose/local_model.h"
#include "propose/policy_proposer.h"
#include "propose/teacher_proposer.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr std::string_view kRemote = "remote:";
constexpr const char *kRemotePrompt = "autotriton_distil", *kPolicyPrompt = "embedded";
constexpr size_t kMostPromptBytes = 1 << 20;
// Without a GPU the policy writes for a quarter of a minute about a program of so many operations on two
// cores, and for twice as long about twice as many.
constexpr int kPolicyOperations = 8;

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

// The policy that ships with the repository.
std::filesystem::path PolicyFolder(const Environment& environment) {
  return std::filesystem::path(environment.root) / "models" / "embedded";
}

// What can be seen of a model folder without loading it, before a process is made for it.
void RequireModel(const std::filesystem::path& folder) {
  for (const char* file : {"config.json", "tokenizer.json"}) {
    if (!std::filesystem::exists(folder / file))
      throw UserError(fmt::format("'{}' is no model folder: it has no {}", folder.string(), file));
  }
  LoadModelConfig(folder / "config.json");
  LoadChatTemplate(folder);
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
  const std::string usual = policy_too ? fmt::format(
                                             "teacher, and policy; without a GPU for programs of "
                                             "at most {} operations",
                                             kPolicyOperations)
                                       : "policy";
  app->add_option("--proposer", proposers,
                  "who writes candidates: policy (models/embedded), teacher, remote:URL of an "
                  "OpenAI-compatible endpoint,\nor the folder of a model; may be given more than once "
                  "(default: " +
                      usual + ")")
      ->allow_extra_args(false);
  AddRemoteTo(app);
}

void ProposerOptions::AddRemoteTo(CLI::App* app) {
  auto* asked = app->add_option_group("Language models", "for all of them; docs/remote.md says more");
  asked->add_option("--prompt", prompt,
                    "how one is asked: a name, or a file with a template (default: embedded for model\n"
                    "folders, autotriton_distil for remote models)");
  asked
      ->add_option("--prompt-body", body,
                   "what it is shown: source, program or both (default: the prompt's own)")
      ->check(CLI::IsMember({"source", "program", "both"}));
  asked->add_option("--temperature", temperature, "of sampling (default: the model's own)")
      ->check(NumberIn(0, 10));
  asked->add_option("--top-p", top_p, "of sampling (default: the model's own)")->check(NumberIn(0, 1));
  asked->add_option("--max-tokens", max_tokens, "of one answer")->check(kPositive);
  asked
      ->add_option(
          "--parts", parts,
          "model folders: programs of more operations than this are asked about in parts of at most\n"
          "so many, whose answers are put together; 0: as a whole")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  asked->add_flag("--unjudged-parts", unjudged_parts,
                  "put answers to parts together as they come, not those first that pass by themselves");
  asked
      ->add_option(
          "--largest-size", largest_size,
          "model folders: larger dimensions of products and convolutions are asked about as small ones,\n"
          "whose numbers are then replaced in the answer; 0: as they are")
      ->check(kNonNegative)
      ->capture_default_str();

  auto* group = app->add_option_group("Remote model", "for --proposer remote:URL; docs/remote.md says more");
  group->add_option("--model", model, "its name");
  group->add_option("--key-variable", key_variable, "environment variable that holds the key")
      ->capture_default_str();
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
      ->check(NumberIn(0, 3600))
      ->capture_default_str();
  group->add_option("--timeout", timeout_seconds, "seconds for one answer, retries included")
      ->check(kSeconds)
      ->capture_default_str();
  group->add_option("--idle-timeout", idle_seconds, "seconds without a byte")
      ->check(kSeconds)
      ->capture_default_str();
  group->add_flag("--no-stream", no_stream, "ask for answers as a whole");
  group->add_option("--cost-log", cost_log, "append a line of JSON for each request to this file");
  group->add_option("--prompt-price", prompt_price, "dollars for a million tokens read")->check(kNonNegative);
  group->add_option("--completion-price", completion_price, "dollars for a million tokens written")
      ->check(kNonNegative);
}

std::vector<std::unique_ptr<Proposer>> ProposerOptions::Make(const Context& context) const {
  const std::string key = TakeFromEnvironment(key_variable);
  std::vector<std::unique_ptr<Proposer>> made;
  for (const std::string& name : proposers) made.push_back(MakeOne(name, key, context));
  if (!made.empty()) return made;
  made.push_back(std::make_unique<TeacherProposer>());
  const std::filesystem::path policy = PolicyFolder(context.environment);
  if (policy_too && std::filesystem::is_directory(policy))
    made.push_back(
        MakeLocal("policy", policy, context, context.runner.device == "cpu" ? kPolicyOperations : 0));
  return made;
}

std::unique_ptr<Proposer> ProposerOptions::MakeOne(const std::string& name, const std::string& key,
                                                   const Context& context) const {
  if (name == "teacher") return std::make_unique<TeacherProposer>();
  if (name == "inductor")
    return std::make_unique<InductorProposer>(
        InductorOptions{context.environment.python, context.environment.root + "/worker"});
  if (name.starts_with(kRemote)) return MakeRemote(name.substr(kRemote.size()), key, context);
  if (name == "policy") {
    const std::filesystem::path folder = PolicyFolder(context.environment);
    if (!std::filesystem::is_directory(folder))
      throw UserError(fmt::format(
          "proposer policy: there is no model in '{}'; --proposer DIR takes the model of another folder",
          folder.string()));
    return MakeLocal(name, folder, context);
  }
  if (std::filesystem::is_directory(name)) {
    const std::string last = std::filesystem::weakly_canonical(name).filename().string();
    return MakeLocal(last == "teacher" || last == "policy" ? name : last, name, context);
  }
  if (name.find('/') != std::string::npos)
    throw UserError(fmt::format("proposer {}: there is no such model folder", name));
  static const std::vector<std::string> kNames{"policy", "teacher", "inductor"};
  throw UserError(
      fmt::format("proposer {}: there are policy, teacher, inductor, remote:URL and folders of models{}",
                  name, config::DidYouMean(name, kNames)));
}

std::unique_ptr<Proposer> ProposerOptions::MakeRemote(const std::string& url, const std::string& key,
                                                      const Context& context) const {
  LanguageOptions language{.prompt = PromptNamed(prompt.empty() ? kRemotePrompt : prompt),
                           .must_answer = context.must_answer,
                           .progress = context.progress};
  if (const PromptBody* named = PromptBodyNamed(body)) language.body = *named;
  if (!context.device.empty()) language.device = context.device;
  auto client = std::make_unique<ChatClient>(ChatClientOptionsFor(*this, url, key));
  client->give_up = context.give_up;
  return std::make_unique<LanguageProposer>(std::move(language), std::move(client));
}

std::unique_ptr<Proposer> ProposerOptions::MakeLocal(const std::string& name, const std::string& folder,
                                                     const Context& context, int most_operations) const {
  LanguageOptions language{.name = name,
                           .prompt = PromptNamed(prompt.empty() ? kPolicyPrompt : prompt),
                           .must_answer = context.must_answer,
                           .progress = context.progress};
  language.as_policy = language.prompt.name == kPolicyPrompt;
  if (const PromptBody* named = PromptBodyNamed(body)) language.body = *named;
  if (!context.device.empty()) language.device = context.device;
  RequireModel(folder);
  auto open = [folder, runner = context.runner, environment = context.environment, options = *this] {
    ModelSession session = OpenModel({.folder = folder, .runner = runner}, environment);
    GenerateOptions sampling = session.defaults;
    sampling.max_tokens = options.max_tokens.value_or(0);
    SamplingOptions& s = sampling.sampling;
    if (options.temperature) s.temperature = static_cast<float>(*options.temperature);
    if (options.top_p) s.top_p = static_cast<float>(*options.top_p);
    return LoadedModel{std::move(session.tokenizer), std::move(*session.chat_template), sampling,
                       std::move(session.engine)};
  };
  auto model =
      std::make_unique<LocalModel>(std::filesystem::weakly_canonical(folder).filename().string(), open);
  model->give_up = context.give_up;
  const bool as_policy = language.as_policy;
  auto whole = std::make_unique<LanguageProposer>(std::move(language), std::move(model));
  if (!as_policy) return whole;
  return std::make_unique<PolicyProposer>(std::move(whole), PolicyOptions{.operations = parts,
                                                                          .judges_parts = !unjudged_parts,
                                                                          .largest = largest_size,
                                                                          .most = most_operations});
}

}  // namespace tritogen
