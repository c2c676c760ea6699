#include "cli/entry.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/error.h"

namespace tritogen {

void EntryOptions::AddTo(CLI::App* app, const std::string& verb) {
  auto* of_class = app->add_option("--class", class_name, "class to " + verb)->capture_default_str();
  app->add_option("--function", function, verb + " a plain function instead of a class")->excludes(of_class);
}

RecordRequest EntryOptions::Request(const std::string& source) const {
  return {.role = Role::kReference, .source = source, .entry = name(), .is_function = is_function()};
}

Plan RecordFile(Recorder* recorder, const EntryOptions& entry, const std::string& file,
                const std::string& source) {
  auto recorded = recorder->Record(entry.Request(source));
  if (auto* plan = std::get_if<Plan>(&recorded)) return std::move(*plan);
  const auto& failure = std::get<RecordFailure>(recorded);
  const std::string where = failure.line ? fmt::format(":{}", failure.line) : "";
  const std::string what = fmt::format("{}{}: {}", file, where, failure.message);
  if (failure.kind == RecordFailure::Kind::kInfraError) throw InternalError(what);
  throw UserError(what);
}

}  // namespace tritogen
