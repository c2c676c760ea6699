#include "verify/integer_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "plan/visit.h"
#include "verify/asked_choices.h"
#include "verify/local_flow.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// What an element is that hangs on the number alone; nothing: it hangs on others, too.
using Number = std::optional<int64_t>;

// No program counts further, and sums of two stay within 64 bits.
constexpr int64_t kMost = int64_t{1} << 61;

class NumberWalk {
 public:
  NumberWalk(const Plan& plan, TensorId leaf, int64_t value) : plan_(plan) {
    numbers_[plan.tensors[leaf].storage] = value;
  }

  bool StaysWithin() {
    return std::ranges::all_of(plan_.run, [&](const Step& each) {
      std::set<TensorId> used;
      ForEachUse(each, [&](TensorId id) {
        if (numbers_.contains(plan_.tensors[id].storage)) used.insert(id);
      });
      const auto* step = std::get_if<AtenStep>(&each);
      return used.empty() || (step != nullptr && Take(*step, used));
    });
  }

 private:
  struct Operand {
    bool follows = false;  // hangs on the input, or is a number
    Number number;
  };

  bool Take(const AtenStep& step, const std::set<TensorId>& used) {
    bool chooses = true;
    for (const TensorId id : used) {
      if (const auto choices = ChoicesIn(plan_, step, id)) {
        const Number place = numbers_[plan_.tensors[id].storage];
        const bool ignored = place && IntegerArgument(step, "ignore_index") == place;
        if (!ignored && !(place && *place >= 0 && *place < *choices)) return false;
      } else {
        chooses = false;
        if (!TraitsOf(step.op).known || !MayTake(step, id)) return false;
      }
    }
    const auto written = WrittenArguments(step);
    if (std::ranges::any_of(written, [&](TensorId id) { return used.contains(id) || !chooses; }))
      return false;
    if (!chooses) Make(step);
    return true;
  }

  // Others may ask for integers within bounds that nobody knows here. By zero floats are divided alone.
  bool MayTake(const AtenStep& step, TensorId id) const {
    const TensorId made = FirstResult(step);
    const bool makes_floats = made != kNoTensor && IsFloating(plan_.tensors[made].dtype);
    if (IsPickyAbout(step, id) && !makes_floats) return false;
    const OpKind kind = KindOf(plan_, step);
    return kind == OpKind::kView || kind == OpKind::kLayout || kind == OpKind::kFactory ||
           IsElementwise(step) || IsSumOfIntegers(step) || IsFloating(plan_.tensors[id].dtype);
  }

  void Make(const AtenStep& step) {
    const OpKind kind = KindOf(plan_, step);
    if (kind == OpKind::kFactory) return;
    const bool moves = kind == OpKind::kView || kind == OpKind::kLayout;
    const Operand made = moves ? OperandOf(step, 0) : ResultOf(step);
    for (const TensorId id : step.outs) {
      if (id == kNoTensor || !made.follows) continue;
      const bool fits = made.number && std::abs(*made.number) < kMost;
      numbers_[plan_.tensors[id].storage] = fits ? made.number : std::nullopt;
    }
  }

  Operand OperandOf(const AtenStep& step, size_t place) const {
    if (place >= step.args.size()) return {};
    const Value& value = step.args[place];
    if (const auto* integer = std::get_if<int64_t>(&value.v)) return {.follows = true, .number = *integer};
    if (const auto* flag = std::get_if<bool>(&value.v)) return {.follows = true, .number = *flag};
    const auto* tensor = std::get_if<TensorRef>(&value.v);
    if (tensor == nullptr) return {};
    const auto found = numbers_.find(plan_.tensors[tensor->id].storage);
    return found == numbers_.end() ? Operand{} : Operand{.follows = true, .number = found->second};
  }

  // What is known of a call's result that hangs on the input.
  Operand ResultOf(const AtenStep& step) const {
    const std::string_view name = OutOfPlaceName(step);
    const Operand one = OperandOf(step, 0), other = OperandOf(step, 1), third = OperandOf(step, 2);
    if (name == "aten::where") return one.number ? (*one.number != 0 ? other : third) : Operand{true, {}};
    if (name == "aten::masked_fill")
      return other.number ? (*other.number != 0 ? third : one) : Operand{true, {}};
    if (name == "aten::_to_copy") return {true, Cast(step, one.number)};
    if (name == "aten::logical_not" || (name == "aten::bitwise_not" && MakesBools(step)))
      return {true, one.number ? Number(*one.number == 0) : std::nullopt};
    if (name == "aten::neg") return {true, one.number ? Number(-*one.number) : std::nullopt};
    if (name == "aten::abs") return {true, one.number ? Number(std::abs(*one.number)) : std::nullopt};
    if (IsClamp(step)) return {true, Clamped(step, one.number)};
    return {true, OfTwo(step, name, one.number, other.number)};
  }

  bool MakesBools(const AtenStep& step) const {
    return FirstResult(step) != kNoTensor && plan_.tensors[FirstResult(step)].dtype == Dtype::kBool;
  }

  Number Cast(const AtenStep& step, Number number) const {
    if (!number || !MakesBools(step)) return number;
    return *number != 0;
  }

  // A bound of which nothing is known, a tensor say, may be any.
  static Number Clamped(const AtenStep& step, Number number) {
    for (const char* end : {"min", "max"}) {
      const Value* given = FindArgument(step, end);
      if (given == nullptr || std::holds_alternative<std::monostate>(given->v)) continue;
      const auto bound = IntegerArgument(step, end);
      if (!bound || !number) return std::nullopt;
      number = std::string_view(end) == "min" ? std::max(*number, *bound) : std::min(*number, *bound);
    }
    return number;
  }

  Number OfTwo(const AtenStep& step, std::string_view name, Number one, Number other) const {
    const bool both = one && other;
    const bool no = (one && *one == 0) || (other && *other == 0);
    if (name == "aten::mul" && no) return 0;
    if (MakesBools(step)) {
      const bool yes = (one && *one != 0) || (other && *other != 0);
      if (name == "aten::logical_and" || name == "aten::bitwise_and" || name == "aten::__and__")
        return no ? Number(0) : both ? Number(1) : std::nullopt;
      if (name == "aten::logical_or" || name == "aten::bitwise_or" || name == "aten::__or__")
        return yes ? Number(1) : both ? Number(0) : std::nullopt;
    }
    if (!both || IntegerArgument(step, "alpha").value_or(1) != 1) return std::nullopt;
    if (IsComparison(step)) return Compares(name, *one, *other);
    if (name == "aten::add") return *one + *other;
    if (name == "aten::sub") return *one - *other;
    if (name == "aten::rsub") return *other - *one;
    constexpr int64_t kMostFactor = int64_t{1} << 30;
    const bool small = std::abs(*one) < kMostFactor && std::abs(*other) < kMostFactor;
    return name == "aten::mul" && small ? Number(*one * *other) : std::nullopt;
  }

  const Plan& plan_;
  std::map<StorageId, Number> numbers_;  // of what hangs on the input
};

}  // namespace

bool StaysWithinBounds(const Plan& plan, TensorId leaf, int64_t value) {
  return NumberWalk(plan, leaf, value).StaysWithin();
}

}  // namespace tritogen
