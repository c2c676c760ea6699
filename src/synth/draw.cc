// Drawing of sketches, one step after the other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "program/literal.h"
#include "synth/sketch.h"

namespace tritogen::synth {
namespace {

constexpr int kTries = 20;      // for a call of the operator that its own rule accepts
constexpr int64_t kSmall = 64;  // a range of integers that is drawn from as a whole

// One call of an operator, drawn parameter by parameter.
class StepDrawer {
 public:
  StepDrawer(const SketchOptions& options, const OpRow& row, SplitMix* random, Sketch* sketch)
      : options_(options), row_(row), random_(*random), sketch_(*sketch) {}

  // False when the row refuses what was drawn; the sketch is as it was then.
  bool Draw() {
    const size_t tensors = sketch_.tensors.size(), inputs = sketch_.inputs.size();
    step_.row = &row_;
    step_.signature = &AnyForm();
    bool drawn = true;
    for (const Param& param : step_.signature->params) drawn = drawn && DrawParam(param);
    step_.equal_sizes = !random_.Chance(options_.broadcast);
    if (drawn && AddStep(&sketch_, std::move(step_), free_, options_.max_rank + 1).empty()) {
      if (AsModule()) Widen(&sketch_.steps.back().shapes);
      if (AsModule()) MakeWindowsSquare(&sketch_.steps.back().shapes);
      if (AsModule()) MakeImagesSquare(&sketch_.steps.back().shapes);
      return true;
    }
    sketch_.tensors.resize(tensors);
    sketch_.inputs.resize(inputs);
    return false;
  }

 private:
  bool AsModule() { return options_.as_modules > 0 && random_.Chance(options_.as_modules); }

  // The row's first overload, or any that PyTorch takes a call for: `sum(x)`, `sum(x, dim=[1])`, but not
  // `mul.Scalar`, since `x * 2` is a call of `mul.Tensor`.
  const Signature& AnyForm() {
    if (!AsModule()) return row_.signatures[0];
    auto wraps = [&](const Signature& form) {
      return std::ranges::any_of(form.params, [&](const Param& param) {
        return param.type == Param::Type::kScalar &&
               std::ranges::any_of(row_.signatures[0].params, [&](const Param& first) {
                 return first.name == param.name && first.IsTensor();
               });
      });
    };
    const Signature& form = row_.signatures[random_.Below(row_.signatures.size())];
    return form.results < 0 || wraps(form) ? row_.signatures[0] : form;
  }

  static const ParamSpec& Unspecified() {
    static const ParamSpec none;
    return none;
  }

  bool DrawParam(const Param& param) {
    const ParamSpec* spec = row_.SpecOf(param.name);
    std::optional<Arg> arg;
    if (param.IsTensor()) {
      arg = DrawTensors(param, spec != nullptr ? *spec : Unspecified());
    } else {
      // Rounding up is no relation that rules state of unknown sizes.
      arg = spec != nullptr && param.name != "ceil_mode" ? DrawAttribute(param, *spec) : std::nullopt;
      if (!arg && param.otherwise) arg = *param.otherwise;
      if (!arg && param.nullable) arg = Arg{};
    }
    if (!arg) return false;
    step_.args.Add(param.name, std::move(*arg));
    return true;
  }

  std::optional<Arg> DrawTensors(const Param& param, const ParamSpec& spec) {
    if (spec.never) return Arg{};
    // `x * 3.14`: the catalogue lists numbers for an operand that may be one.
    const bool number = !spec.choices.empty() && step_.signature == &row_.signatures[0];
    if (number && !step_.operands.empty() && AsModule())
      return Near(spec.choices[random_.Below(spec.choices.size())], spec);
    if (param.nullable && !spec.always && random_.Chance(0.5)) return Arg{};
    if (param.type == Param::Type::kTensor) return Operand(spec, RankOf(spec));
    Arg::List items;
    int rank = RankOf(spec);
    const int count = Between(spec.min_items, std::max(spec.min_items, spec.max_items));
    for (int i = 0; i < count; ++i) {
      if (!spec.ranks.empty()) rank = spec.ranks[std::min<size_t>(i, spec.ranks.size() - 1)];
      auto item = Operand(spec, rank);
      if (!item) return std::nullopt;
      rank = sketch_.tensors[step_.operands.back()].rank;
      items.push_back(std::move(*item));
    }
    return Arg{std::move(items)};
  }

  int Between(int64_t low, int64_t high) {
    return static_cast<int>(low + static_cast<int64_t>(random_.Below(high - low + 1)));
  }

  // The rank of a named tensor argument, or the length of a list; −1 for neither.
  int RankOfArg(const std::string& name) {
    const Arg& arg = step_.args[name];
    if (const NodeRef* ref = AsRef(arg)) return sketch_.tensors[step_.operands[ref->id]].rank;
    if (const Arg::List* list = AsList(arg)) return static_cast<int>(list->size());
    return -1;
  }

  // −1: any in the spec's range.
  int RankOf(const ParamSpec& spec) {
    if (!spec.rank_as.empty()) return RankOfArg(spec.rank_as);
    if (!spec.rank_less.empty()) return RankOfArg(spec.rank_less) - 1;
    if (spec.below.empty()) return -1;
    const int most = RankOfArg(spec.below);
    if (most < 1 || random_.Chance(0.6)) return most;
    return Between(1, most);
  }

  static Dtype DtypeOf(const ParamSpec& spec) {
    if (!spec.index_of.empty() || !spec.class_of.empty() || spec.dtypes == ParamSpec::Dtypes::kInt)
      return Dtype::kInt64;
    return spec.dtypes == ParamSpec::Dtypes::kBool ? Dtype::kBool : Dtype::kFloat32;
  }

  std::optional<Arg> Operand(const ParamSpec& spec, int rank) {
    Dtype dtype = DtypeOf(spec);
    if (!spec.dtype_as.empty()) {
      if (const NodeRef* ref = AsRef(step_.args[spec.dtype_as]))
        dtype = sketch_.tensors[step_.operands[ref->id]].dtype;
    }
    InputValues values{.low = spec.low_value, .high = spec.high_value, .nonzero = spec.nonzero};
    const std::string& indexed = spec.class_of.empty() ? spec.index_of : spec.class_of;
    if (!indexed.empty()) {
      const NodeRef* ref = AsRef(step_.args[indexed]);
      if (ref == nullptr) return std::nullopt;
      values.indexed_step = static_cast<int>(sketch_.steps.size());
      values.indexed_operand = ref->id;
      values.indexed_axis = spec.class_of.empty() ? -1 : 1;
    }
    // Integers that hang on rounding (which of two near equals is larger) are right as they are, but not what
    // is computed of them.
    const bool exact = !options_.jumps && (spec.unrounded || !IsFloating(dtype));
    auto fits = [&](const SketchTensor& tensor) {
      return tensor.dtype == dtype && (tensor.exact || !exact) &&
             (rank >= 0 ? tensor.rank == rank
                        : tensor.rank >= spec.min_rank && tensor.rank <= std::min(spec.max_rank, Most(spec)));
    };
    int tensor = -1;
    const bool first = step_.operands.empty();
    if (values.Any() && (first || !random_.Chance(options_.fresh))) tensor = Existing(fits);
    if (tensor < 0) {
      const int own = rank >= 0 ? rank : Between(spec.min_rank, std::min(spec.max_rank, Most(spec)));
      tensor = static_cast<int>(sketch_.tensors.size());
      sketch_.tensors.push_back(
          {.rank = own, .dtype = dtype, .input = static_cast<int>(sketch_.inputs.size())});
      sketch_.inputs.push_back({dtype, values});
    }
    step_.operands.push_back(tensor);
    return Arg{NodeRef{static_cast<int>(step_.operands.size()) - 1}};
  }

  int Most(const ParamSpec& spec) const { return std::max(options_.max_rank, spec.min_rank); }

  template <typename F>
  int Existing(F fits) {
    const bool any = random_.Chance(options_.fan_out);
    std::vector<int> candidates, unused;
    for (size_t i = 0; i < sketch_.tensors.size(); ++i) {
      const SketchTensor& tensor = sketch_.tensors[i];
      const int number = static_cast<int>(i);
      if (!fits(tensor)) continue;
      if (tensor.input >= 0 && !sketch_.inputs[tensor.input].values.Any()) continue;
      if (std::count(step_.operands.begin(), step_.operands.end(), number) > 0) continue;
      candidates.push_back(number);
      if (tensor.uses == 0 && tensor.step >= 0) unused.push_back(number);
    }
    const std::vector<int>& from = any || unused.empty() ? candidates : unused;
    return from.empty() ? -1 : from[random_.Below(from.size())];
  }

  int FirstRank() const { return step_.operands.empty() ? 0 : sketch_.tensors[step_.operands[0]].rank; }

  std::optional<Arg> DrawAttribute(const Param& param, const ParamSpec& spec) {
    const int rank = FirstRank();
    const bool whole = spec.domain == ParamSpec::Domain::kRange || spec.domain == ParamSpec::Domain::kAxis ||
                       spec.domain == ParamSpec::Domain::kAxes;
    if (whole && param.otherwise && AsModule()) return std::nullopt;
    switch (spec.domain) {
      case ParamSpec::Domain::kDefault:
        return std::nullopt;
      case ParamSpec::Domain::kBool:
        return Arg{random_.Chance(0.5)};
      case ParamSpec::Domain::kChoice:
        return Near(spec.choices[random_.Below(spec.choices.size())], spec);
      case ParamSpec::Domain::kAxis:
        if (rank == 0) return std::nullopt;
        return Arg{static_cast<int64_t>(random_.Below(rank))};
      case ParamSpec::Domain::kAxes:
      case ParamSpec::Domain::kPermutation:
        return rank == 0 ? std::nullopt : std::optional(Axes(rank, spec));
      case ParamSpec::Domain::kRange:
        break;
    }
    if (param.type == Param::Type::kFloat || param.type == Param::Type::kScalar)
      return Arg{static_cast<int64_t>(Between(spec.low, std::min(spec.high, spec.low + kSmall)))};
    // An integer that equations speak of: a variable of the system. The number only holds its place.
    free_.insert(param.name);
    if (param.type == Param::Type::kInt) return Arg{std::max<int64_t>(spec.low, 1)};
    int items = spec.max_items > 1 || spec.min_items > 1 ? Between(spec.min_items, spec.max_items)
                                                         : std::max(1, param.count);
    if (!spec.items_as.empty()) items = RankOfArg(spec.items_as);
    if (items < 0) return std::nullopt;
    return Arg{Arg::List(items, Arg{std::max<int64_t>(spec.low, 1)})};
  }

  // Integers beyond what is listed for them. What divides a size, as groups do, may be any size; windows and
  // the like go up to thrice the list's end: `kernel_size: 1..4` and a module's 11.
  static void Widen(ShapeSystem* shapes) {
    for (ShapeVariable& variable : shapes->variables) {
      if (variable.role == ShapeVariable::Role::kAttribute && variable.high <= kSmall) variable.high *= 3;
    }
    for (const Relation& relation : shapes->relations) {
      const auto* divides = std::get_if<relation::Divides>(&relation);
      if (divides == nullptr || divides->divisor.known()) continue;
      ShapeVariable& divisor = shapes->variables[divides->divisor.var];
      if (divisor.role == ShapeVariable::Role::kAttribute) divisor.high = kUnboundedSize;
    }
  }

  // Windows that are the same in all their dimensions.
  static void MakeWindowsSquare(ShapeSystem* shapes) {
    auto numbers = [](const Relation& relation) -> std::vector<Term> {
      if (const auto* w = std::get_if<relation::Window>(&relation))
        return {w->kernel, w->stride, w->padding, w->dilation};
      if (const auto* w = std::get_if<relation::TransposedWindow>(&relation))
        return {w->kernel, w->stride, w->padding, w->dilation, w->extra};
      return {};
    };
    std::vector<Term> first;
    for (size_t r = 0, count = shapes->relations.size(); r < count; ++r) {
      const std::vector<Term> terms = numbers(shapes->relations[r]);
      if (first.empty()) {
        first = terms;
        continue;
      }
      for (size_t i = 0; i < std::min(first.size(), terms.size()); ++i) {
        if (!first[i].known() && !terms[i].known())
          shapes->relations.push_back(relation::Equal{first[i], terms[i]});
      }
    }
  }

  // Images that are as high as they are wide; volumes, of which every other one is as deep.
  void MakeImagesSquare(ShapeSystem* shapes) {
    constexpr size_t kFirst = 2;  // behind batch and channels
    const auto is_volume = [](const Terms& sizes) { return sizes.size() == kFirst + 3; };
    const bool flat = std::ranges::any_of(shapes->operands, is_volume) && random_.Below(2) == 0;
    for (const Terms& sizes : shapes->operands) {
      for (size_t i = kFirst + (flat && is_volume(sizes) ? 1 : 0); i + 1 < sizes.size(); ++i)
        shapes->relations.push_back(relation::Equal{sizes[i], sizes.back()});
    }
  }

  // Where a number may be any real one: one of one to four digits and of the size of what is listed. A share,
  // below 1, stays one.
  Arg Near(const Arg& listed, const ParamSpec& spec) {
    const bool real = std::ranges::any_of(
        spec.choices, [](const Arg& choice) { return std::holds_alternative<double>(choice.v); });
    const auto number = AsNumber(listed);
    if (!real || !number || *number == 0 || !AsModule()) return listed;
    const bool share = std::abs(*number) < 1;
    const double least = std::log(share ? 0.02 : 0.1), most = std::log(share ? 1.9 : 4.0);
    const double drawn = *number * std::exp(least + (most - least) * random_.Unit());
    return Arg{std::strtod(fmt::format("{:.{}g}", drawn, 1 + random_.Below(4)).c_str(), nullptr)};
  }

  Arg Axes(int rank, const ParamSpec& spec) {
    std::vector<int64_t> axes(rank);
    for (int i = 0; i < rank; ++i) axes[i] = i;
    for (int i = rank - 1; i > 0; --i) std::swap(axes[i], axes[random_.Below(i + 1)]);
    if (spec.domain == ParamSpec::Domain::kAxes) {
      axes.resize(Between(1, rank));
      std::sort(axes.begin(), axes.end());
    }
    return IntsArg(axes);
  }

  const SketchOptions& options_;
  const OpRow& row_;
  SplitMix& random_;
  Sketch& sketch_;
  SketchStep step_;
  std::set<std::string, std::less<>> free_;
};

}  // namespace

Sketch DrawSketch(const SketchOptions& options, int level, SplitMix* random) {
  TRITOGEN_CHECK(!options.operators.empty() && level >= 1);
  Sketch sketch;
  for (int refused = 0; static_cast<int>(sketch.steps.size()) < level; ++refused) {
    const OpRow& row = *options.operators[random->Below(options.operators.size())];
    if (refused >= 100)
      throw UserError(
          fmt::format("no call of {} could be drawn with ranks up to {}: allow higher ranks or name other "
                      "operators",
                      row.name, options.max_rank));
    for (int i = 0; i < kTries; ++i) {
      if (!StepDrawer(options, row, random, &sketch).Draw()) continue;
      refused = -1;
      break;
    }
  }
  return sketch;
}

}  // namespace tritogen::synth
