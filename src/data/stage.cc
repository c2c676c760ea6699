#include "data/stage.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/stages.h"

namespace tritogen::data {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<Stage> (*make)();
};
constexpr Row kStages[] = {
    {"filter", MakeFilter},   {"dedup", MakeDedup},     {"augment", MakeAugment},
    {"rewrite", MakeRewrite}, {"explain", MakeExplain}, {"difficulty", MakeDifficulty},
};

}  // namespace

std::unique_ptr<Stage> MakeStage(std::string_view name) {
  for (const Row& row : kStages) {
    if (name == row.name) return row.make();
  }
  throw UserError(fmt::format("there is no stage '{}'{}", name, config::Suggestion(name, StageNames())));
}

std::vector<std::string> StageNames() {
  std::vector<std::string> names;
  for (const Row& row : kStages) names.emplace_back(row.name);
  return names;
}

}  // namespace tritogen::data
