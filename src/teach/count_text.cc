#include "teach/count_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "teach/view.h"

namespace tritogen::teach {
namespace {

bool IsNumber(const std::set<int64_t>& known, const std::vector<int64_t>& factors) {
  const auto other = std::count_if(factors.begin(), factors.end(), [](int64_t f) { return f != 1; });
  return other <= 1 || known.count(Product(factors)) > 0;
}

}  // namespace

std::string CountText(const std::set<int64_t>& known, const std::vector<int64_t>& factors) {
  if (IsNumber(known, factors)) return fmt::format("{}", Product(factors));
  std::vector<int64_t> written;
  std::copy_if(factors.begin(), factors.end(), std::back_inserter(written), [](int64_t f) { return f != 1; });
  return fmt::format("{}", fmt::join(written, " * "));
}

std::string CountOperand(const std::set<int64_t>& known, const std::vector<int64_t>& factors) {
  const std::string text = CountText(known, factors);
  return IsNumber(known, factors) ? text : "(" + text + ")";
}

std::vector<int64_t> FactorsAt(const std::vector<int64_t>& digits, int64_t inner, int64_t size) {
  size_t end = digits.size();
  for (int64_t behind = 1; behind < inner && end > 0;) behind *= digits[--end];
  size_t begin = end;
  for (int64_t within = 1; within < size && begin > 0;) within *= digits[--begin];
  const auto at = [&](size_t i) { return digits.begin() + static_cast<int64_t>(i); };
  std::vector<int64_t> factors(at(begin), at(end)), behind(at(end), digits.end());
  return Product(factors) == size && Product(behind) == inner ? factors : std::vector<int64_t>{size};
}

}  // namespace tritogen::teach
