// serve: a language model behind OpenAI's endpoints.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/error.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/model_session.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "serve/server.h"

namespace tritogen {
namespace {

constexpr int kOtherDescriptors = 64;  // of the model's files, libraries, the loop

struct Options {
  ModelOptions model;
  serve::ServerOptions server;
  std::string model_name, key_variable;
};

void AddOptions(CLI::App* app, Options* o) {
  o->model.AddTo(app);
  serve::HttpOptions& http = o->server.http;
  auto* group = app->add_option_group("Server", "docs/serve.md says more");
  group->add_option("--host", http.host, "IP address to listen at; 0.0.0.0: every network can reach it")
      ->capture_default_str();
  group->add_option("--port", http.port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  group->add_option("--model-name", o->model_name,
                    "what clients call the model (default: its folder's name)");
  group->add_option("--api-key-env", o->key_variable,
                    "environment variable with the key that clients must send");
  group->add_option("--max-body", http.max_body, "size of a request at most")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("8MiB");
  group->add_option("--max-queue", o->server.max_queue, "sequences that may wait while others run")
      ->check(kNonNegative)
      ->capture_default_str();
  group->add_option("--max-connections", http.max_connections, "connections at once")
      ->check(kPositive)
      ->capture_default_str();
  group
      ->add_option("--write-seconds", http.write_seconds,
                   "a client that takes nothing for so long is given up")
      ->check(kSeconds)
      ->capture_default_str();
  group->add_option("--stop-seconds", o->server.stop_seconds, "for running requests after SIGINT or SIGTERM")
      ->check(kNonNegative)
      ->capture_default_str();
}

std::string ReadKey(const std::string& variable) {
  if (variable.empty()) return "";
  const char* value = std::getenv(variable.c_str());
  const std::string key = value == nullptr ? "" : value;
  if (key.empty())
    throw UserError(fmt::format("--api-key-env {}: this variable is not set, or empty", variable));
  unsetenv(variable.c_str());
  return key;
}

// As many connections as descriptors allow.
int MostConnections(int wanted) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t needed = static_cast<rlim_t>(wanted) + kOtherDescriptors;
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min(limit.rlim_max, needed);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::max(1, static_cast<int>(std::min(limit.rlim_cur, needed)) - kOtherDescriptors);
}

void Announce(const Options& o, const serve::ServedModel& model, uint16_t port) {
  const std::string& host = o.server.http.host;
  fmt::print(stderr,
             "tritogen serve: {} at http://{}:{}/v1, {} sequences at once, context {}{}; Ctrl-C stops it\n",
             model.name, (host.find(':') != host.npos) ? '[' + host + ']' : host, port, model.limits.slots,
             model.limits.context, model.chat_template == nullptr ? ", no chats" : "");
  if (o.server.api_key.empty() && !host.starts_with("127.") && host != "::1") {
    fmt::print(stderr, "tritogen serve: everyone who reaches {} may use it; --api-key-env asks for a key\n",
               host);
  }
}

}  // namespace

int RunServe(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "A model behind OpenAI's endpoints: /v1/completions, /v1/chat/completions, /v1/models, /health, "
      "/metrics. "
      "Exit\ncode 0 when it was told to stop and all had been answered, 1 when answers were cut off, 2 wrong "
      "use.",
      "./tritogen serve");
  Options options;
  AddOptions(&app, &options);
  if (auto code = Parse(&app, argc, argv)) return *code;
  options.server.api_key = ReadKey(options.key_variable);
  options.server.http.max_connections = MostConnections(options.server.http.max_connections);

  const ModelSession session = OpenModel(options.model, environment);
  const serve::ServedModel model{.name = options.model_name.empty() ? session.name : options.model_name,
                                 .created = std::time(nullptr),
                                 .tokenizer = session.tokenizer.get(),
                                 .chat_template = session.chat_template ? &*session.chat_template : nullptr,
                                 .defaults = session.defaults,
                                 .limits = session.engine->limits()};
  serve::Server server(options.server, model, session.engine.get());
  Announce(options, model, server.port());
  if (!session.chat_template) fmt::print(stderr, "tritogen serve: no chats: {}\n", session.why_no_chat);
  const bool all_answered = server.Run();
  fmt::print(stderr, "tritogen serve: stopped{}\n", all_answered ? "" : "; answers were cut off");
  return all_answered ? kDoneExit : kFlawedExit;
}

}  // namespace tritogen
