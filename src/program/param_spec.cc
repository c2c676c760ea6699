#include "program/param_spec.h"

#include "base/error.h"
#include "base/text.h"
#include "program/literal.h"
#include "program/signature.h"

namespace tritogen {
namespace {

bool Take(std::string_view* text, std::string_view word) {
  if (!text->starts_with(word)) return false;
  *text = Trimmed(text->substr(word.size()), " ");
  return true;
}

double Number(std::string_view text) {
  return *AsNumber(ParseLiteral(text));
}

// "1..4" or "4"
std::pair<int64_t, int64_t> Range(std::string_view text) {
  const size_t dots = text.find("..");
  const auto low = static_cast<int64_t>(Number(text.substr(0, dots)));
  return {low, dots == std::string_view::npos ? low : static_cast<int64_t>(Number(text.substr(dots + 2)))};
}

bool ReadTensorItem(std::string_view item, ParamSpec* spec) {
  using Dtypes = ParamSpec::Dtypes;
  if (Take(&item, "rank as ")) {
    spec->rank_as = item;
  } else if (Take(&item, "rank one less than ")) {
    spec->rank_less = item;
  } else if (Take(&item, "ranks ")) {
    for (std::string_view rank : SplitOutside(item, ' '))
      spec->ranks.push_back(static_cast<int>(Number(rank)));
  } else if (Take(&item, "rank ")) {
    std::tie(spec->min_rank, spec->max_rank) = Range(item);
  } else if (Take(&item, "below ")) {
    spec->below = item;
  } else if (Take(&item, "index of ")) {
    spec->index_of = item;
    spec->dtypes = Dtypes::kInt;
  } else if (Take(&item, "class of ")) {
    spec->class_of = item;
    spec->dtypes = Dtypes::kInt;
  } else if (Take(&item, "as ")) {
    spec->dtype_as = item;
  } else if (Take(&item, ">= ")) {
    spec->low_value = Number(item);
  } else if (size_t to = item.find(" to "); to != std::string_view::npos) {
    spec->low_value = Number(item.substr(0, to));
    spec->high_value = Number(item.substr(to + 4));
  } else if (item == "nonzero") {
    spec->nonzero = true;
  } else if (item == "unrounded") {
    spec->unrounded = true;
  } else if (item == "always") {
    spec->always = true;
  } else if (item == "never") {
    spec->never = true;
  } else if (item == "float32") {
    spec->dtypes = Dtypes::kFloat32;
  } else if (item == "int") {
    spec->dtypes = Dtypes::kInt;
  } else if (item == "bool") {
    spec->dtypes = Dtypes::kBool;
    spec->domain = ParamSpec::Domain::kBool;
  } else if (item == "number") {
    spec->dtypes = Dtypes::kNumber;
  } else {
    return false;
  }
  return true;
}

bool ReadAttributeItem(std::string_view item, ParamSpec* spec) {
  using Domain = ParamSpec::Domain;
  if (item == "axis") {
    spec->domain = Domain::kAxis;
  } else if (item == "axes") {
    spec->domain = Domain::kAxes;
  } else if (item == "permutation") {
    spec->domain = Domain::kPermutation;
  } else if (Take(&item, "one of ")) {
    spec->domain = Domain::kChoice;
    for (std::string_view choice : SplitOutside(item, '|')) spec->choices.push_back(ParseLiteral(choice));
  } else if (Take(&item, "items as ")) {
    spec->items_as = item;
  } else if (Take(&item, "items ") || Take(&item, "list ")) {
    std::tie(spec->min_items, spec->max_items) = Range(item);
  } else if (item.find("..") != std::string_view::npos) {
    spec->domain = Domain::kRange;
    std::tie(spec->low, spec->high) = Range(item);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<ParamSpec> ParseParamSpecs(std::string_view text) {
  std::vector<ParamSpec> specs;
  for (std::string_view part : SplitOutside(text, ';')) {
    const size_t colon = part.find(':');
    TRITOGEN_CHECK(colon != std::string_view::npos);
    ParamSpec spec;
    spec.param = Trimmed(part.substr(0, colon), " ");
    for (std::string_view item : SplitOutside(part.substr(colon + 1), ','))
      TRITOGEN_CHECK(ReadTensorItem(item, &spec) || ReadAttributeItem(item, &spec));
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace tritogen
