// Size(): values for the variables of one call's constraints, by propagation and guesses.
#include <algorithm>

#include "base/error.h"
#include "base/overloaded.h"
#include "program/draw.h"
#include "program/infer.h"

namespace tritogen {
namespace {

using Role = ShapeVariable::Role;

constexpr int kTries = 400;
constexpr int64_t kGuess = 6;  // guesses are below this, or as little above a bound
constexpr int64_t kOpen = -1;  // attributes may be zero, nothing is negative

class Search {
 public:
  Search(const ShapeSystem& system, SplitMix* random)
      : system_(system), random_(random), values_(system.variables.size(), kOpen) {}

  std::optional<std::vector<int64_t>> Run() {
    while (true) {
      bool progress = false;
      for (const Relation& relation : system_.relations) progress |= std::visit(*this, relation);
      if (failed_) return std::nullopt;
      if (progress) continue;
      if (!GuessOne()) break;
    }
    return failed_ ? std::nullopt : std::optional(values_);
  }

  // Each says whether it gave a variable its value.
  bool operator()(const relation::Equal& r) { return Settle({{1, r.a}, {-1, r.b}}, 0); }
  bool operator()(const relation::Linear& r) {
    return r.at_most ? AtMost(r.terms, r.constant) : Settle(r.terms, r.constant);
  }
  bool operator()(const relation::Broadcast& r) {
    if (Known(r.a) && Known(r.b)) {
      const int64_t a = Value(r.a), b = Value(r.b);
      if (a != b && a != 1 && b != 1) return Fail();
      return Give(r.out, a == 1 ? b : a);
    }
    if (!Known(r.out) || Known(r.a) == Known(r.b)) return false;
    const Term open = Known(r.a) ? r.b : r.a;
    const int64_t out = Value(r.out), other = Value(Known(r.a) ? r.a : r.b);
    if (other != out && other != 1) return Fail();
    return Give(open, other == out && random_->Below(3) == 0 ? 1 : out);
  }
  bool operator()(const relation::Product& r) {
    Term open;
    int open_count = 0;
    int64_t sides[2] = {1, 1};
    int open_side = 0;
    for (int side = 0; side < 2; ++side) {
      for (const Term& term : side == 0 ? r.left : r.right) {
        if (Known(term)) {
          sides[side] *= Value(term);
        } else {
          ++open_count;
          open = term;
          open_side = side;
        }
      }
    }
    if (open_count == 0) return sides[0] == sides[1] ? false : Fail();
    if (open_count > 1) return false;
    if (sides[open_side] == 0 || sides[1 - open_side] % sides[open_side] != 0) return Fail();
    return Give(open, sides[1 - open_side] / sides[open_side]);
  }
  bool operator()(const relation::Divides& r) {
    if (Known(r.divisor) && Known(r.number)) {
      return Value(r.divisor) > 0 && Value(r.number) % Value(r.divisor) == 0 ? false : Fail();
    }
    if (Known(r.divisor)) return Give(r.number, Value(r.divisor) * Guess(1, kGuess));
    if (!Known(r.number)) return false;
    const int64_t number = Value(r.number);
    int64_t divisor = Guess(1, number);
    while (number % divisor != 0) --divisor;
    return Give(r.divisor, divisor);
  }
  bool operator()(const relation::Window& r) {
    for (Term term : {r.in, r.kernel, r.stride, r.padding, r.dilation}) {
      if (!Known(term)) return false;
    }
    const int64_t room = Value(r.in) + 2 * Value(r.padding) - Value(r.dilation) * (Value(r.kernel) - 1) - 1;
    if (room < 0 || Value(r.stride) < 1) return Fail();
    return Give(r.out, room / Value(r.stride) + 1);
  }
  bool operator()(const relation::TransposedWindow& r) {
    for (Term term : {r.in, r.kernel, r.stride, r.padding, r.dilation, r.extra}) {
      if (!Known(term)) return false;
    }
    const int64_t out = (Value(r.in) - 1) * Value(r.stride) - 2 * Value(r.padding) +
                        Value(r.dilation) * (Value(r.kernel) - 1) + Value(r.extra) + 1;
    if (out < 1 || Value(r.extra) >= std::max(Value(r.stride), Value(r.dilation))) return Fail();
    return Give(r.out, out);
  }
  bool operator()(const relation::InRange& r) {
    if (!Known(r.term)) return false;
    return Value(r.term) >= r.low && Value(r.term) <= r.high ? false : Fail();
  }

 private:
  bool Known(Term term) const { return term.known() || values_[term.var] != kOpen; }
  int64_t Value(Term term) const { return term.known() ? term.number : values_[term.var]; }
  bool Fail() {
    failed_ = true;
    return false;
  }

  bool Give(Term term, int64_t value) {
    if (Known(term)) return Value(term) == value ? false : Fail();
    const ShapeVariable& variable = system_.variables[term.var];
    if (value < variable.low || value > variable.high) return Fail();
    values_[term.var] = value;
    return true;
  }

  // Σ terms + constant = 0 with one open term.
  bool Settle(const std::vector<std::pair<int64_t, Term>>& terms, int64_t constant) {
    int64_t sum = constant, coefficient = 0;
    Term open;
    for (const auto& [c, term] : terms) {
      if (Known(term)) {
        sum += c * Value(term);
      } else if (coefficient != 0) {
        return false;
      } else {
        coefficient = c;
        open = term;
      }
    }
    if (coefficient == 0) return sum == 0 ? false : Fail();
    return -sum % coefficient == 0 ? Give(open, -sum / coefficient) : Fail();
  }

  bool AtMost(const std::vector<std::pair<int64_t, Term>>& terms, int64_t constant) {
    int64_t sum = constant, coefficient = 0;
    Term open;
    for (const auto& [c, term] : terms) {
      if (Known(term)) {
        sum += c * Value(term);
      } else if (coefficient != 0) {
        return false;
      } else {
        coefficient = c;
        open = term;
      }
    }
    if (coefficient == 0) return sum <= 0 ? false : Fail();
    const ShapeVariable& variable = system_.variables[open.var];
    if (coefficient > 0) {
      const int64_t most = -sum >= 0 ? -sum / coefficient : -1;
      return most < variable.low ? Fail() : Give(open, Guess(variable.low, std::min(most, variable.high)));
    }
    const int64_t least = std::max(variable.low, (sum - coefficient - 1) / -coefficient);
    return Give(open, Guess(least, std::min(variable.high, least + kGuess)));
  }

  int64_t Guess(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(random_->Below(static_cast<uint64_t>(std::max<int64_t>(high - low, 0)) + 1));
  }

  // Attributes and operands first; what is defined by them then follows.
  bool GuessOne() {
    std::vector<int> open;
    for (Role role : {Role::kAttribute, Role::kOperand, Role::kResult, Role::kAuxiliary}) {
      for (size_t i = 0; i < values_.size() && open.size() < values_.size(); ++i) {
        if (values_[i] == kOpen && system_.variables[i].role == role) open.push_back(static_cast<int>(i));
      }
      if (!open.empty()) break;
    }
    if (open.empty()) return false;
    const int var = open[random_->Below(open.size())];
    const ShapeVariable& variable = system_.variables[var];
    values_[var] = Guess(variable.low, std::min(variable.high, std::max(variable.low, kGuess)));
    return true;
  }

  const ShapeSystem& system_;
  SplitMix* random_;
  std::vector<int64_t> values_;
  bool failed_ = false;
};

// Sizes of the operands and numbers of the free attributes.
struct Numbers {
  std::vector<std::vector<int64_t>> operands;
  std::map<std::string, std::vector<int64_t>, std::less<>> attributes;
};

Numbers FromSystem(const CallForm& form, const ShapeSystem& system, const std::vector<int64_t>& values) {
  Numbers numbers;
  for (const auto& operand : form.operands) numbers.operands.emplace_back(operand.rank, 1);
  for (const std::string& name : form.free)
    numbers.attributes[name] = AsInts(form.args[name]).value_or(std::vector<int64_t>{});
  for (size_t i = 0; i < values.size(); ++i) {
    const ShapeVariable& variable = system.variables[i];
    if (variable.role == Role::kOperand) numbers.operands[variable.index][variable.axis] = values[i];
    if (variable.role == Role::kAttribute) numbers.attributes[variable.attribute][variable.axis] = values[i];
  }
  return numbers;
}

// Where the constraints depend on sizes themselves (how many pieces a split makes): any numbers, then tried.
Numbers Anything(const CallForm& form, SplitMix* random) {
  Numbers numbers;
  for (const auto& operand : form.operands) {
    numbers.operands.emplace_back();
    for (int i = 0; i < operand.rank; ++i)
      numbers.operands.back().push_back(1 + static_cast<int64_t>(random->Below(kGuess)));
  }
  for (const std::string& name : form.free) {
    auto& values = numbers.attributes[name] = AsInts(form.args[name]).value_or(std::vector<int64_t>{});
    for (int64_t& value : values) value += static_cast<int64_t>(random->Below(3));
  }
  return numbers;
}

std::optional<Program> Build(const CallForm& form, const Numbers& numbers) {
  Program program;
  for (size_t i = 0; i < form.operands.size(); ++i) {
    Node input;
    input.kind = NodeKind::kInput;
    input.name = "t" + std::to_string(i);
    input.results = {{form.operands[i].dtype, numbers.operands[i]}};
    program.nodes.push_back(std::move(input));
  }
  BoundArgs args = form.args;
  for (const auto& [name, values] : numbers.attributes) {
    Arg* arg = args.Find(name);
    *arg = AsList(*arg) != nullptr ? IntsArg(values) : Arg{values.at(0)};
  }
  Node op;
  op.op = "aten::" + form.signature->name;
  SetArgs(*form.signature, args, &op);
  auto call = BindCall(op);
  TRITOGEN_CHECK(call.has_value());
  Inferred inferred = InferResults(*call, LookupIn(program));
  if (!inferred.problem.empty() || inferred.results.empty()) return std::nullopt;
  op.results = std::move(inferred.results);
  const auto id = static_cast<NodeId>(program.nodes.size());
  program.structure = "(";
  for (size_t r = 0; r < op.results.size(); ++r) {
    program.outputs.push_back({id, static_cast<int>(r)});
    program.structure += "*,";
  }
  program.structure += ")";
  program.nodes.push_back(std::move(op));
  return program;
}

// What the system says of the results must be what the rule computes.
bool Agree(const ShapeSystem& system, const std::vector<int64_t>& values, const Node& op) {
  if (system.results.size() != op.results.size()) return false;
  for (size_t r = 0; r < system.results.size(); ++r) {
    const Terms& terms = system.results[r];
    if (terms.size() != op.results[r].sizes.size()) return false;
    for (size_t i = 0; i < terms.size(); ++i) {
      const int64_t value = terms[i].known() ? terms[i].number : values[terms[i].var];
      if (value != op.results[r].sizes[i]) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Program> Size(const CallForm& form, SplitMix* random) {
  const ShapeSystem system = ConstraintsOf(form.Unsized());
  for (int i = 0; i < kTries; ++i) {
    if (!system.problem.empty()) {
      if (auto program = Build(form, Anything(form, random))) return program;
      continue;
    }
    auto values = Search(system, random).Run();
    if (!values) continue;
    auto program = Build(form, FromSystem(form, system, *values));
    TRITOGEN_CHECK(program.has_value());  // numbers that meet the constraints make a call
    TRITOGEN_CHECK(Agree(system, *values, program->nodes.back()));
    return program;
  }
  return std::nullopt;
}

}  // namespace tritogen
