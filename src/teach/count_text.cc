#include "teach/count_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "teach/view.h"

namespace tritogen::teach {
namespace {

std::vector<int64_t> WithoutOnes(std::vector<int64_t> factors) {
  std::erase(factors, 1);
  return factors;
}

}  // namespace

std::string CountText(const std::vector<int64_t>& factors) {
  const std::vector<int64_t> written = WithoutOnes(factors);
  return written.empty() ? "1" : fmt::format("{}", fmt::join(written, " * "));
}

std::string CountOperand(const std::vector<int64_t>& factors) {
  const std::string text = CountText(factors);
  return WithoutOnes(factors).size() > 1 ? "(" + text + ")" : text;
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

std::string StrideText(const std::vector<int64_t>& shape, int64_t stride) {
  std::vector<int64_t> factors = {stride};
  int64_t product = 1;
  for (size_t i = shape.size(); i-- > 0 && shape[i] > 0 && product <= stride / shape[i];) {
    product *= shape[i];
    if (shape[i] == 1 || stride % product != 0) continue;
    factors = {stride / product};
    factors.insert(factors.end(), shape.begin() + static_cast<int64_t>(i), shape.end());
  }
  return CountOperand(factors);
}

std::vector<std::string> PlaceTerms(const std::vector<int64_t>& shape, int64_t element) {
  std::vector<std::string> terms;
  if (element == 0) return terms;
  const std::vector<int64_t> strides = ContiguousStrides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t place = element / strides[i];
    element %= strides[i];
    if (place == 0) continue;
    std::vector<int64_t> factors = {place};
    if (strides[i] > 1)
      factors.insert(factors.end(), shape.begin() + static_cast<int64_t>(i) + 1, shape.end());
    terms.push_back(CountText(factors));
  }
  if (element > 0) terms.push_back(fmt::format("{}", element));
  return terms;
}

}  // namespace tritogen::teach
