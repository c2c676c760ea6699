#include "report/inputs_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "report/html.h"
#include "report/table.h"

namespace tritogen::report {
namespace {

using nlohmann::json;

struct Meaning {
  std::string_view inputs, text;
};
// Of the distributions in docs/verdicts.md.
constexpr Meaning kMeanings[] = {
    {"generated", "as the file generates them"},
    {"spread", "random signs, slices over three orders of magnitude"},
    {"planted", "as generated but for four unusual elements"},
    {"planted_apart", "as generated but for three unusual elements elsewhere"},
    {"flipped", "negated"},
    {"large", "magnitudes in the hundreds"},
    {"shifted", "offsets of several deviations"},
    {"spikes", "a few elements up to a hundred times the rest, ends of lines beyond them"},
    {"swings", "powers of ten, down and up along each line"},
    {"binary", "zeros and ones"},
    {"near_one", "one, give or take a percent"},
    {"huge", "a hundred thousand times as generated"},
    {"far_below", "all far below zero, each slice by another number"},
    {"far_above", "all far above zero, or by turns above and below"},
    {"opposed", "two inputs of opposite signs whose products are all far below zero"},
    {"tiny", "slices one to nine orders of magnitude smaller"},
    {"asked", "as generated but for what the program asks for: Inf, numbers at and beyond its bounds"},
    {"missing", "as generated but for NaN in a few places"},
    {"minus_inf", "as generated but for -Inf in a few places"},
    {"none", "masks all false, of two values the lower one everywhere"},
    {"all", "masks all true, of two values the upper one everywhere"},
    {"uneven", "most integers the same one, most others nowhere"},
    {"crowded", "all integers the same one"},
    {"level", "lines of one number each, slices that are the same"},
    {"repeats", "integers often the same as those beside them"},
    {"zeros", "floating inputs all zero, or one of them"},
    {"nothing", "masks all false and floating inputs all zero"},
    {"nothing_below", "masks all false and floating inputs far below zero"},
    {"alike", "inputs of one shape the same, opposite or a place apart"},
    {"sunk", "integers that are taken for their size far below zero"},
};

std::string MeaningOf(const std::string& inputs) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.inputs == inputs) return std::string(meaning.text);
  }
  return "";
}

std::string InWords(double used) {
  if (std::isinf(used)) return "beyond";
  return used == 0 ? "exact" : Number(100 * used) + " %";
}

}  // namespace

std::string InputsTable(const json& outputs) {
  std::map<std::string, double> most;
  for (const json& output : outputs) {
    const json used = output.is_object() ? output.value("budget_used", json()) : json();
    if (!used.is_object()) continue;
    for (const auto& [inputs, share] : used.items()) {
      double& here = most.try_emplace(inputs, 0).first->second;
      here = std::max(here, share.is_number() ? share.get<double>() : HUGE_VAL);
    }
  }
  std::vector<std::pair<std::string, double>> rows(most.begin(), most.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({"inputs", "", "of the budget"}, 2);
  for (const auto& [inputs, used] : rows) table.Row({inputs, MeaningOf(inputs), InWords(used)});
  return rows.empty() ? "" : table.Html();
}

}  // namespace tritogen::report
