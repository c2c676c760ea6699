#include "emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/python_text.h"
#include "emit/wrapper.h"

namespace tritogen {
namespace {

constexpr const char* kGuards = R"(

class _Meta(NamedTuple):
    """What a tensor must be for the kernels to be called with it."""

    shape: tuple
    strides: tuple
    dtype: torch.dtype


def _fits(value, expected):
    """True when value is what the kernels were verified with: tensors on the GPU by shape, strides and dtype."""
    if isinstance(expected, _Meta):
        return (
            isinstance(value, torch.Tensor)
            and value.is_cuda
            and not (value.requires_grad and torch.is_grad_enabled())
            and tuple(value.shape) == expected.shape
            and tuple(value.stride()) == expected.strides
            and value.dtype == expected.dtype
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(expected)
            and all(_fits(one, other) for one, other in zip(value, expected))
        )
    return type(value) is type(expected) and value == expected

)";

std::string MetaText(const TensorMeta& meta) {
  return fmt::format("_Meta({}, {}, {})", PythonTuple(meta.sizes), PythonTuple(meta.strides),
                     PythonDtype(meta.dtype));
}

// Both walk the arguments in the same order: what _fits compares, and the names of the tensor leaves.
std::string ExpectedText(const Plan& plan, const Wrapper& wrapper, const Value& value) {
  if (const auto* ref = std::get_if<TensorRef>(&value.v)) return MetaText(plan.tensors[ref->id]);
  if (const auto* list = std::get_if<Value::List>(&value.v)) {
    std::vector<std::string> items;
    for (const Value& item : *list) items.push_back(ExpectedText(plan, wrapper, item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return wrapper.Literal(value);
}

void NameInputs(const Value& value, const std::string& expression, Wrapper* wrapper,
                std::string* first_tensor) {
  if (const auto* ref = std::get_if<TensorRef>(&value.v)) {
    wrapper->Name(ref->id, expression);
    if (first_tensor->empty()) *first_tensor = expression;
  } else if (const auto* list = std::get_if<Value::List>(&value.v)) {
    for (size_t i = 0; i < list->size(); ++i) {
      NameInputs((*list)[i], fmt::format("{}[{}]", expression, i), wrapper, first_tensor);
    }
  }
}

// The state entries and buffers that run or the set-up slice reads, so that a guard and a name exist for
// each.
std::vector<const StateEntry*> StateInOrder(const Plan& plan) {
  std::vector<const StateEntry*> entries;
  std::set<TensorId> seen;
  for (const auto* named : {&plan.state, &plan.unsaved}) {
    for (const StateEntry& entry : *named) {
      if (seen.insert(entry.tensor).second) entries.push_back(&entry);
    }
  }
  return entries;
}

bool IsImport(std::string_view statement) {
  return statement.starts_with("import ") || statement.starts_with("from ");
}

bool TakesDescriptors(const Step& step) {
  const auto* launch = std::get_if<LaunchStep>(&step);
  return launch != nullptr &&
         std::any_of(launch->variants.front().args.begin(), launch->variants.front().args.end(),
                     [](const KernelArg& arg) { return std::holds_alternative<DescriptorArg>(arg); });
}

// The imports that the module itself needs.
std::vector<std::string> OwnImports(const Plan& plan) {
  std::vector<std::string> imports = {"import torch", "import triton", "import triton.language as tl"};
  if (std::any_of(plan.run.begin(), plan.run.end(), TakesDescriptors) ||
      std::any_of(plan.setup.begin(), plan.setup.end(), TakesDescriptors)) {
    imports.push_back("from triton.tools.tensor_descriptor import TensorDescriptor");
  }
  return imports;
}

// Every kernel after what it needs; what several need, once. `imports` stand above already.
std::string KernelTexts(const Plan& plan, const std::vector<std::string>& imports) {
  std::string more_imports, definitions;
  std::set<std::string> seen(imports.begin(), imports.end());
  auto add = [&](std::string statement) {
    if (statement.empty() || !seen.insert(statement).second) return;
    if (IsImport(statement)) {
      more_imports += statement + "\n";
    } else {
      definitions += fmt::format("\n{}\n", statement);
    }
  };
  for (const Kernel& kernel : plan.kernels) {
    for (std::string& statement : TopLevelStatements(kernel.support)) add(std::move(statement));
    add(WithoutChoosers(kernel.source));
  }
  return (more_imports.empty() ? "" : "\n" + more_imports) + definitions;
}

std::string Docstring(const EmitRequest& request) {
  std::string out = "\"\"\"";
  for (const std::string& line : request.header) out += line + "\n";
  return out + "\"\"\"\n";
}

// Pieces of the emitted class or function that both forms share.
struct Body {
  std::string inputs;      // argument list of _run after self: "x0, x1"
  std::string expected;    // text of _INPUTS
  std::string state;       // "self.a.weight, self.b"
  std::string state_meta;  // text of _STATE
  std::string setup;       // statements of the set-up slice, 8 columns in
  std::string provided;    // what _prepared returns
  std::string device;      // expression of the tensor whose device counts
  std::string statements, outputs;
};

std::string Tuple(const std::vector<std::string>& items) {
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

std::string TupleOfLines(const std::vector<std::string>& items) {
  if (items.empty()) return "()";
  std::string text = "(\n";
  for (const std::string& item : items) text += fmt::format("    {},\n", item);
  return text + ")";
}

// Names the arguments of the call and the entries of the state, and writes what guards compare them with.
void WriteArguments(const Plan& plan, Wrapper* wrapper, Body* body) {
  std::vector<std::string> names, expected, states, metas;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    NameInputs(plan.inputs[i], names.back(), wrapper, &body->device);
    expected.push_back(ExpectedText(plan, *wrapper, plan.inputs[i]));
  }
  for (const StateEntry* entry : StateInOrder(plan)) {
    wrapper->Name(entry->tensor, StateExpression(entry->name));
    states.push_back(wrapper->NameOf(entry->tensor));
    metas.push_back(MetaText(plan.tensors[entry->tensor]));
  }
  if (body->device.empty() && !states.empty()) body->device = states.front();
  body->inputs = fmt::format("{}", fmt::join(names, ", "));
  body->expected = TupleOfLines(expected);
  body->state = Tuple(states);
  body->state_meta = TupleOfLines(metas);
}

std::variant<Body, EmitFailure> WriteBody(const Plan& plan, int indent) {
  Body body;
  Wrapper wrapper(plan);
  WriteArguments(plan, &wrapper, &body);
  if (body.device.empty()) return EmitFailure{"the program has neither tensor inputs nor parameters"};

  const SetupSlice slice = SliceSetup(plan);
  if (!slice.failure.empty()) return EmitFailure{slice.failure};
  body.setup = wrapper.Statements(slice.steps, indent);
  std::vector<std::string> provided;
  for (TensorId id : slice.provided) {
    if (wrapper.NameOf(id).empty()) return EmitFailure{"forward reads a tensor that no recorded step makes"};
    provided.push_back(wrapper.NameOf(id));
  }
  if (!provided.empty()) body.provided = Tuple(provided);

  std::vector<const Step*> run;
  for (const Step& step : plan.run) run.push_back(&step);
  body.statements = wrapper.Statements(run, indent);
  body.outputs = wrapper.Outputs();
  return body;
}

std::string ClassText(const EmitRequest& request, const Body& body, const std::string& original) {
  const std::string separator = body.inputs.empty() ? "" : ", ";
  std::string out = fmt::format(
      R"(
_INPUTS = {}
_STATE = {}


class {}({}):
    """{} with Triton kernels for the arguments it was verified with; the original runs for all others."""

    def forward(self, *args, **kwargs):
        state = {}
        fits = (
            not kwargs
{}            and _fits(args, _INPUTS)
            and _fits(state, _STATE)
        )
        if not fits:
            return super().forward(*args, **kwargs)
        return self._run(*args)

)",
      body.expected, body.state_meta, request.entry, original, request.entry, body.state,
      request.mode_matters
          ? fmt::format("            and self.training is {}\n", request.plan->training ? "True" : "False")
          : "");
  if (!body.provided.empty()) {
    out += fmt::format(R"(    def _prepared(self):
        """Tensors made from the weights once, and again when a weight was changed."""
        state = {}
        versions = [(tensor.data_ptr(), tensor._version) for tensor in state]
        if getattr(self, "_prepared_from", None) != versions:
            device = {}.device
{}            self._prepared_tensors, self._prepared_from = {}, versions
        return self._prepared_tensors

)",
                       body.state,
                       request.plan->state.empty() ? "torch.empty(0, device=\"cuda\")"
                                                   : StateExpression(request.plan->state.front().name),
                       body.setup, body.provided);
  }
  out += fmt::format("    def _run(self{}{}):\n        device = {}.device\n", separator, body.inputs,
                     body.device);
  if (!body.provided.empty()) out += fmt::format("        {} = self._prepared()\n", body.provided);
  out += fmt::format("        with torch.cuda.device(device):\n{}        return {}\n", body.statements,
                     body.outputs);
  return out;
}

std::string FunctionText(const EmitRequest& request, const Body& body, const std::string& original) {
  return fmt::format(R"(
_INPUTS = {}


def {}(*args, **kwargs):
    """{} with Triton kernels for the arguments it was verified with; the original runs for all others."""
    if kwargs or not _fits(args, _INPUTS):
        return {}(*args, **kwargs)
    return _run(*args)


def _run({}):
    device = {}.device
    with torch.cuda.device(device):
{}    return {}
)",
                     body.expected, request.entry, request.entry, original, body.inputs, body.device,
                     body.statements, body.outputs);
}

}  // namespace

Plan WithVariant(const Plan& plan, int variant) {
  Plan chosen = plan;
  for (auto* steps : {&chosen.setup, &chosen.run}) {
    for (Step& step : *steps) {
      if (auto* launch = std::get_if<LaunchStep>(&step)) {
        LaunchVariant kept = std::move(launch->variants[variant % launch->variants.size()]);
        launch->variants.assign(1, std::move(kept));
      }
    }
  }
  return chosen;
}

std::variant<std::string, EmitFailure> EmitModule(const EmitRequest& request) {
  const Plan plan = WithVariant(*request.plan, request.variant);
  auto written = WriteBody(plan, request.is_function ? 8 : 12);
  if (auto* failure = std::get_if<EmitFailure>(&written)) return *failure;
  const Body& body = std::get<Body>(written);
  if (request.is_function && !body.provided.empty()) {
    return EmitFailure{"a plain function has nowhere to keep tensors made before its call"};
  }

  const std::string original = (request.is_function ? "original_" : "Original") + request.entry;
  std::vector<std::string> futures;
  const std::string source =
      HoistFutures(RenameIdentifier(request.reference_source, request.entry, original), &futures);
  EmitRequest with_plan = request;
  with_plan.plan = &plan;
  std::string out = Docstring(request);
  for (const std::string& line : futures) out += line + "\n";
  const std::vector<std::string> imports = OwnImports(plan);
  out += fmt::format("\nfrom typing import NamedTuple\n\n{}\n", fmt::join(imports, "\n"));
  out += fmt::format("\n# The original program, as it was handed in.\n\n{}\n# Triton kernels.\n{}", source,
                     KernelTexts(plan, imports));
  out += kGuards;
  out += request.is_function ? FunctionText(with_plan, body, original) : ClassText(with_plan, body, original);
  return out;
}

}  // namespace tritogen
