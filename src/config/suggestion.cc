#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "config/fields.h"

namespace tritogen::config {
namespace {

// Levenshtein's distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string> names) {
  constexpr size_t kLongest = 100;  // longer ones are no slips of the finger
  std::string_view best;
  size_t least = std::min(name.size(), std::max<size_t>(2, name.size() / 3) + 1);
  if (name.size() > kLongest) return best;
  for (const std::string& one : names) {
    const size_t distance = one.starts_with(name) ? 1 : Distance(name, one);  // a beginning is near
    if (distance < least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> names) {
  const std::string_view near = Nearest(name, names);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::string Suggestion(std::string_view name, std::span<const std::string> names) {
  const std::string near = DidYouMean(name, names);
  return !near.empty() || names.empty() ? near : fmt::format("; there is {}", fmt::join(names, ", "));
}

}  // namespace tritogen::config
