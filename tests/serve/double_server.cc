// The server over a Generator without a model, for tests:
//   serve_double TOKENIZER.json TEMPLATE.jinja [--name value …]
// Prints one line with its port, serves until a signal, exits as ./tritogen serve does.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "base/atomic_file.h"
#include "serve/generator_double.h"
#include "serve/server.h"

int main(int argc, char** argv) {
  using namespace tritogen;
  std::string tokenizer_path, template_path, model_name = "double";
  serve::GeneratorDoubleOptions generator_options;
  serve::ServerOptions options{.http = {.port = 0}};
  CLI::App app("server over a double");
  app.add_option("tokenizer", tokenizer_path)->required();
  app.add_option("template", template_path)->required();
  app.add_option("--model-name", model_name);
  app.add_option("--step", generator_options.step_seconds);
  app.add_option("--slots", generator_options.limits.slots);
  app.add_option("--context", generator_options.limits.context);
  app.add_option("--max-queue", options.max_queue);
  app.add_option("--max-body", options.http.max_body);
  app.add_option("--max-unsent", options.http.max_unsent);
  app.add_option("--stop-seconds", options.stop_seconds);
  app.add_option("--header-seconds", options.http.header_seconds);
  app.add_option("--write-seconds", options.http.write_seconds);
  app.add_option("--api-key", options.api_key);
  CLI11_PARSE(app, argc, argv);
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_path);
  const ChatTemplate chat_template(ReadFile(template_path));
  serve::GeneratorDouble generator(tokenizer, generator_options);
  serve::Server server(options,
                       {.name = model_name,
                        .created = 1,
                        .tokenizer = &tokenizer,
                        .chat_template = &chat_template,
                        .defaults = {.stop_tokens = {*tokenizer.Find("<|im_end|>")}},
                        .limits = generator.limits()},
                       &generator);
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  return server.Run() ? 0 : 1;
}
