// Relations as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/overloaded.h"
#include "program/shape_rules.h"

namespace tritogen {

std::string ToString(const ShapeSystem& system, const Relation& relation) {
  auto text = [&](Term term) {
    return term.known() ? std::to_string(term.number) : system.variables[term.var].name;
  };
  auto product = [&](const Terms& terms) {
    std::vector<std::string> parts;
    for (const Term& term : terms) parts.push_back(text(term));
    return parts.empty() ? std::string("1") : fmt::format("{}", fmt::join(parts, " · "));
  };
  return std::visit(
      Overloaded{
          [&](const relation::Equal& r) { return fmt::format("{} = {}", text(r.a), text(r.b)); },
          [&](const relation::Broadcast& r) {
            return fmt::format("{} = broadcast({}, {})", text(r.out), text(r.a), text(r.b));
          },
          [&](const relation::Product& r) {
            return fmt::format("{} = {}", product(r.left), product(r.right));
          },
          [&](const relation::Linear& r) {
            std::string sum;
            for (const auto& [coefficient, term] : r.terms)
              sum += fmt::format("{}{} · {}", sum.empty() ? "" : " + ", coefficient, text(term));
            return fmt::format("{} + {} {} 0", sum, r.constant, r.at_most ? "≤" : "=");
          },
          [&](const relation::Divides& r) {
            return fmt::format("{} divides {}", text(r.divisor), text(r.number));
          },
          [&](const relation::Window& r) {
            return fmt::format("{} = ⌊({} + 2·{} − {}·({} − 1) − 1) / {}⌋ + 1", text(r.out), text(r.in),
                               text(r.padding), text(r.dilation), text(r.kernel), text(r.stride));
          },
          [&](const relation::TransposedWindow& r) {
            return fmt::format("{} = ({} − 1)·{} − 2·{} + {}·({} − 1) + {} + 1", text(r.out), text(r.in),
                               text(r.stride), text(r.padding), text(r.dilation), text(r.kernel),
                               text(r.extra));
          },
          [&](const relation::InRange& r) {
            return fmt::format("{} ≤ {} ≤ {}", r.low, text(r.term), r.high);
          },
      },
      relation);
}

}  // namespace tritogen
