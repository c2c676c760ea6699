// Graphs as people write them.
#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "program/literal.h"
#include "synth/sketch.h"

namespace tritogen::synth {
namespace {

constexpr int kMostRank = 8;
constexpr size_t kMostSteps = 256;

bool IsName(std::string_view text) {
  return !text.empty() && IsIdentifier(text.substr(0, 1)) &&
         std::ranges::all_of(text, [](char c) { return IsWordByte(c) || c == '.'; });
}

class Parser {
 public:
  Sketch Parse(std::string_view text) {
    std::string lines(text);
    std::replace(lines.begin(), lines.end(), '\n', ';');
    for (std::string_view step : SplitOutside(lines, ';')) {
      if (!step.empty()) Step(step);
    }
    if (sketch_.steps.empty()) throw UserError("the graph has no step: write one, as in h = relu(x:2)");
    return std::move(sketch_);
  }

 private:
  [[noreturn]] static void Fail(std::string_view step, const std::string& why) {
    throw UserError(fmt::format("the graph's step '{}': {}", step, why));
  }

  void Step(std::string_view text) {
    if (sketch_.steps.size() == kMostSteps)
      Fail(text, fmt::format("a graph has at most {} steps", kMostSteps));
    const size_t open = text.find('(');
    if (open == std::string_view::npos || text.back() != ')')
      Fail(text, "write it as name = operator(operands)");
    std::string_view head = text.substr(0, open), name;
    if (const size_t equals = head.find('='); equals != std::string_view::npos) {
      name = Trimmed(head.substr(0, equals), " ");
      head = Trimmed(head.substr(equals + 1), " ");
      if (!IsName(name)) Fail(text, fmt::format("'{}' is no name", name));
    }
    SketchStep step;
    step.row = FindOp(Trimmed(head, " "));
    if (step.row == nullptr || !Drawable(*step.row))
      Fail(text, fmt::format("the catalogue has no operator '{}' that takes tensors", Trimmed(head, " ")));
    step.signature = &step.row->signatures[0];
    std::map<std::string, Arg, std::less<>> given;
    std::vector<std::string_view> tensors;
    for (std::string_view part : SplitOutside(text.substr(open + 1, text.size() - open - 2), ',')) {
      const size_t equals = part.find('=');
      if (equals == std::string_view::npos) {
        tensors.push_back(part);
        continue;
      }
      const auto value = ReadLiteral(Trimmed(part.substr(equals + 1), " "));
      if (!value) Fail(text, fmt::format("'{}' is no literal", part.substr(equals + 1)));
      given.insert_or_assign(std::string(Trimmed(part.substr(0, equals), " ")), *value);
    }
    std::set<std::string, std::less<>> free;
    Bind(text, &step, &tensors, &given, &free);
    const std::string problem = AddStep(&sketch_, std::move(step), free, kMostRank);
    if (!problem.empty()) Fail(text, problem);
    if (!name.empty()) names_.insert_or_assign(std::string(name), sketch_.steps.back().results[0]);
  }

  void Bind(std::string_view text, SketchStep* step, std::vector<std::string_view>* tensors,
            std::map<std::string, Arg, std::less<>>* given, std::set<std::string, std::less<>>* free) {
    size_t next = 0;
    auto operand = [&] {
      step->operands.push_back(Tensor(text, (*tensors)[next++]));
      return Arg{NodeRef{static_cast<NodeId>(step->operands.size() - 1)}};
    };
    for (const Param& param : step->signature->params) {
      const ParamSpec* spec = step->row->SpecOf(param.name);
      Arg arg;
      if (auto it = given->find(param.name); it != given->end()) {
        if (param.IsTensor()) Fail(text, fmt::format("{} is a tensor: it comes by position", param.name));
        if (!param.Accepts(it->second)) Fail(text, fmt::format("{} may not have this value", param.name));
        arg = it->second;
        given->erase(it);
      } else if (param.type == Param::Type::kTensors) {
        Arg::List items;
        while (next < tensors->size()) items.push_back(operand());
        arg = Arg{std::move(items)};
      } else if (param.IsTensor() && next < tensors->size()) {
        arg = operand();
      } else if (param.IsInteger() && spec != nullptr && spec->domain == ParamSpec::Domain::kRange) {
        free->insert(param.name);
        const Arg least{std::max<int64_t>(spec->low, 1)};
        const int items = std::max(param.count, spec->min_items);
        arg = param.type == Param::Type::kInt ? least : Arg{Arg::List(items, least)};
      } else if (param.otherwise) {
        arg = *param.otherwise;
      } else if (!param.nullable) {
        Fail(text, fmt::format("{} is missing", param.name));
      }
      step->args.Add(param.name, std::move(arg));
    }
    if (next < tensors->size()) Fail(text, "it has too many operands");
    if (!given->empty()) Fail(text, fmt::format("the operator has no '{}'", given->begin()->first));
    if (step->operands.empty()) Fail(text, "it has no operand");
  }

  int Tensor(std::string_view step, std::string_view text) {
    const size_t colon = text.find(':');
    const std::string_view name = Trimmed(text.substr(0, colon), " ");
    if (!IsName(name)) Fail(step, fmt::format("'{}' is no name of a tensor", text));
    auto it = names_.find(name);
    if (colon == std::string_view::npos) {
      if (it == names_.end()) Fail(step, fmt::format("the input {0} needs a rank, as in {0}:2", name));
      return it->second;
    }
    if (it != names_.end()) Fail(step, fmt::format("{} is there already: its rank is known", name));
    const auto rank = ReadLiteral(Trimmed(text.substr(colon + 1), " "));
    const auto number = rank ? AsInt(*rank) : std::nullopt;
    if (!number || *number < 0 || *number > kMostRank)
      Fail(step, fmt::format("the rank of {} must be from 0 to {}", name, kMostRank));
    const int tensor = static_cast<int>(sketch_.tensors.size());
    sketch_.tensors.push_back(
        {.rank = static_cast<int>(*number), .input = static_cast<int>(sketch_.inputs.size())});
    sketch_.inputs.push_back({});
    names_.emplace(name, tensor);
    return tensor;
  }

  Sketch sketch_;
  std::map<std::string, int, std::less<>> names_;
};

}  // namespace

Sketch ParseSketch(std::string_view text) {
  return Parser().Parse(text);
}

}  // namespace tritogen::synth
