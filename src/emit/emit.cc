#include "emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/helpers.h"
#include "emit/kernel_text.h"
#include "emit/preparation.h"
#include "emit/python_text.h"
#include "emit/returns.h"
#include "emit/updates.h"
#include "emit/wrapper.h"
#include "plan/visit.h"

namespace tritogen {
namespace {

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
  if (const auto* dict = std::get_if<Value::Dict>(&value.v)) {
    std::vector<std::string> entries;
    for (size_t i = 0; i < dict->keys.size(); ++i)
      entries.push_back(
          fmt::format("\"{}\": {}", dict->keys[i], ExpectedText(plan, wrapper, dict->items[i])));
    const std::string text = fmt::format("{{{}}}", fmt::join(entries, ", "));
    return dict->type.empty() ? text : fmt::format("_Object({}, {})", dict->type, text);
  }
  if (const auto* device = std::get_if<DeviceValue>(&value.v))
    return fmt::format("torch.device(\"{}\")", device->cuda ? "cuda" : "cpu");
  return wrapper.Literal(value);
}

void NameInputs(const Value& value, const std::string& expression, Wrapper* wrapper,
                std::string* first_tensor) {
  if (const auto* ref = std::get_if<TensorRef>(&value.v)) {
    wrapper->Name(ref->id, expression);
    if (first_tensor->empty()) *first_tensor = expression;
  }
  ForEachItem(value, expression, [&](const Value& item, const std::string& text) {
    NameInputs(item, text, wrapper, first_tensor);
  });
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

// On GPUs that have them, descriptors made in a kernel lie in memory that a launch brings along.
bool MakesDescriptors(const Plan& plan) {
  return std::ranges::any_of(plan.kernels, [](const Kernel& kernel) {
    return kernel.ttir.find("tt.make_tensor_descriptor") != std::string::npos;
  });
}

// The imports that the module itself needs; those of Python's library by names that the original program does
// not give to anything of its own.
std::vector<std::string> OwnImports(const Plan& plan) {
  std::vector<std::string> imports = {"import functools as _functools",
                                      "import inspect as _inspect",
                                      "import itertools as _itertools",
                                      "import operator as _operator",
                                      "import types as _types",
                                      "from typing import NamedTuple",
                                      "",
                                      "import torch",
                                      "import triton",
                                      "import triton.language as tl"};
  if (std::any_of(plan.run.begin(), plan.run.end(), TakesDescriptors) ||
      std::any_of(plan.setup.begin(), plan.setup.end(), TakesDescriptors)) {
    imports.push_back("from triton.tools.tensor_descriptor import TensorDescriptor");
  }
  if (std::ranges::any_of(plan.packed,
                          [](const PackedAs& packed) { return packed.type.starts_with("collections."); }))
    imports.insert(imports.begin(), "import collections");
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

// Names of files and models are in it, which may hold anything.
std::string Docstring(const EmitRequest& request) {
  std::string out = "\"\"\"";
  for (const std::string& line : request.header) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\' || line.compare(i, 3, "\"\"\"") == 0) out += '\\';
      out += line[i];
    }
    out += '\n';
  }
  return out + "\"\"\"\n";
}

// Pieces of the emitted class or function that both forms share.
struct Body {
  std::string inputs;      // argument list of _run after self: "x0, x1"
  std::string expected;    // text of _INPUTS
  std::string made_with;   // text of _MADE_WITH
  std::string state;       // what the entries of the state are called: "a_weight, b"
  std::string places;      // text of _PLACES
  std::string state_meta;  // text of _STATE
  std::string setup;       // statements of the set-up slice, 8 columns in
  std::string provided;    // what _tables returns
  std::string device;      // expression of the tensor whose device counts
  bool scratch = false;    // kernels need memory of their own
  std::string written;     // arguments of _apart, where the program writes to what it is given
  std::string statements, outputs;
};

// "net.0.weight" → (("net", "0"), "weight"): modules on the way, and the tensor's name there.
std::string PlaceText(std::string_view name) {
  const size_t dot = name.rfind('.');
  std::vector<std::string> path;
  for (std::string_view way = dot == name.npos ? "" : name.substr(0, dot); !way.empty();) {
    const std::string_view part = way.substr(0, way.find('.'));
    path.push_back(PythonString(part));
    way.remove_prefix(std::min(way.size(), part.size() + 1));
  }
  return fmt::format("({}, {})", path.empty() ? "()" : PythonTupleOf(path),
                     PythonString(dot == name.npos ? name : name.substr(dot + 1)));
}

// Names the arguments of the call and the entries of the state, and writes what guards compare them with.
void WriteArguments(const Plan& plan, Wrapper* wrapper, Body* body) {
  std::vector<std::string> names, expected, made, states, places, metas;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    NameInputs(plan.inputs[i], names.back(), wrapper, &body->device);
    expected.push_back(ExpectedText(plan, *wrapper, plan.inputs[i]));
  }
  for (const Value& argument : plan.init_inputs) made.push_back(ExpectedText(plan, *wrapper, argument));
  for (const StateEntry* entry : StateInOrder(plan)) {
    wrapper->NameState(*entry);
    states.push_back(wrapper->NameOf(entry->tensor));
    places.push_back(PlaceText(entry->name));
    metas.push_back(MetaText(plan.tensors[entry->tensor]));
  }
  if (body->device.empty() && !states.empty()) body->device = states.front();
  body->inputs = fmt::format("{}", fmt::join(names, ", "));
  body->expected = PythonTupleOfLines(expected);
  body->made_with = PythonTupleOfLines(made);
  if (!states.empty()) body->state = PythonTupleOf(states);
  body->places = PythonTupleOfLines(places);
  body->state_meta = PythonTupleOfLines(metas);
}

std::variant<Body, EmitFailure> WriteBody(const Plan& plan, int indent) {
  Body body;
  Wrapper wrapper(plan);
  WriteArguments(plan, &wrapper, &body);
  if (body.device.empty()) return EmitFailure{"the program has neither tensor inputs nor parameters"};

  const SetupSlice slice = SliceSetup(plan);
  if (!slice.failure.empty()) return EmitFailure{slice.failure};
  body.setup = wrapper.Statements(slice.steps, 8);
  std::vector<std::string> provided;
  for (TensorId id : slice.provided) {
    if (wrapper.NameOf(id).empty()) return EmitFailure{"forward reads a tensor that no recorded step makes"};
    provided.push_back(wrapper.NameOf(id));
  }
  if (!provided.empty()) body.provided = PythonTupleOf(provided);

  std::vector<const Step*> run;
  for (const Step& step : plan.run) run.push_back(&step);
  body.statements = wrapper.Statements(run, indent);
  body.scratch = MakesDescriptors(plan);
  body.outputs = wrapper.Outputs();
  return body;
}

// The class's guard and dispatch.
std::string ForwardText(const EmitRequest& request, const Body& body, const std::string& original) {
  const bool state = !body.state.empty();
  std::string guards;
  auto guard = [&](std::string_view condition) { guards += fmt::format("            and {}\n", condition); };
  if (request.mode_matters)
    guard(fmt::format("self.training is {}", request.plan->training ? "True" : "False"));
  guard("_only_values()");
  guard("_as_written(type(self), " + original + ", _NAMES)");
  guard(fmt::format("_unchanged(self, {})", request.mode_matters ? "True" : "False"));
  guard("_fits(args, _INPUTS)");
  if (state) guard("_fits(state, _STATE)");
  if (!body.written.empty()) guard(fmt::format("_apart({})", body.written));
  return fmt::format(
      R"(
_MADE_WITH = {0}
_NAMES = _names_of({3})
_INPUTS = {1}
{2}

def _arguments(args, kwargs):
    """What the original's constructor is given, by name, with what it takes where nothing is given."""
    bound = _inspect.signature({3}.__init__).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


class {4}({3}):
    """{4} with Triton kernels for the arguments it was verified with; the original runs for all others."""

    @_functools.wraps({3}.__init__, assigned=["__doc__"], updated=[])
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._made_alike = _alike(_arguments(args, kwargs), _arguments(_MADE_WITH, {{}}))
        self._made_of, self._made_with = _parts(self), None
        self._made_with = _settings(self)

    @_functools.wraps({3}.forward, assigned=["__doc__"], updated=[])
    def forward(self, *args, **kwargs):
        if kwargs:
            args, kwargs = _in_order(super().forward, args, kwargs)
{5}        fits = (
            not kwargs
            and self._made_alike
{6}        )
        if not fits:
            return super().forward(*args, **kwargs)
        return self._run_kernels({7}*args)

)",
      body.made_with, body.expected,
      state ? fmt::format("_PLACES = {}\n_STATE = {}\n", body.places, body.state_meta) : "", original,
      request.entry, state ? "        state = _state(self)\n" : "", guards, state ? "state, " : "");
}

// What run reads and no argument gives: values that stand in the file. One set for all
// modules, since no call writes there.
// REQUIRES: run reads something like that.
std::string TablesText(const Body& body) {
  return fmt::format(R"(

_TABLES = {{}}  # by GPU


def _tables(device):
    """Tensors whose values stand in this file, made once for each GPU."""
    if device.index not in _TABLES:
        kept = _KEPT.setdefault(device.index, {{}})
{}        _TABLES[device.index] = {}
    return _TABLES[device.index]
)",
                     body.setup, body.provided);
}

std::string ClassText(const EmitRequest& request, const Body& body, const std::string& original) {
  const bool state = !body.state.empty();
  std::string out = body.provided.empty() ? "" : TablesText(body);
  out += ForwardText(request, body, original);
  out += fmt::format("    def _run_kernels(self{}{}{}):\n", state ? ", state" : "",
                     body.inputs.empty() ? "" : ", ", body.inputs);
  if (state) out += fmt::format("        {} = state\n", body.state);
  out += fmt::format("        device = {}.device\n", body.device);
  if (body.scratch) out += "        triton.set_allocator(_scratch)\n";
  if (!body.provided.empty()) out += fmt::format("        {} = _tables(device)\n", body.provided);
  out += fmt::format(
      "        kept = _KEPT.setdefault(device.index, {{}})\n"
      "        with torch.cuda.device(device):\n{}        return {}\n",
      body.statements, body.outputs);
  return out;
}

std::string FunctionText(const EmitRequest& request, const Body& body, const std::string& original) {
  return fmt::format(R"(
_INPUTS = {0}


@_functools.wraps({2}, assigned=["__doc__"], updated=[])
def {1}(*args, **kwargs):
    if kwargs:
        args, kwargs = _in_order({2}, args, kwargs)
    if kwargs or not (_only_values() and _file_kept() and _fits(args, _INPUTS){3}):
        return {2}(*args, **kwargs)
    return _run_kernels(*args)
{4}

def _run_kernels({5}):
    device = {6}.device
{10}    kept = _KEPT.setdefault(device.index, {{}})
{7}    with torch.cuda.device(device):
{8}    return {9}
)",
                     body.expected, request.entry, original,
                     body.written.empty() ? "" : fmt::format(" and _apart({})", body.written),
                     body.provided.empty() ? "" : TablesText(body), body.inputs, body.device,
                     body.provided.empty() ? "" : fmt::format("    {} = _tables(device)\n", body.provided),
                     body.statements, body.outputs,
                     body.scratch ? "    triton.set_allocator(_scratch)\n" : "");
}

}  // namespace

double HostMicroseconds(const Plan& plan) {
  constexpr double kLaunch = 15, kCall = 5, kGuard = 1.5;
  double total = kGuard * static_cast<double>(plan.state.size() + plan.unsaved.size() + plan.inputs.size());
  for (const Step& step : plan.run) total += std::holds_alternative<LaunchStep>(step) ? kLaunch : kCall;
  return total;
}

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

std::string OriginalName(const std::string& entry, bool is_function) {
  return (is_function ? "original_" : "Original") + entry;
}

std::variant<std::string, EmitFailure> EmitModule(const EmitRequest& request) {
  const std::string original = OriginalName(request.entry, request.is_function);
  Plan plan = PreparedByRun(WithVariant(*request.plan, request.variant));
  if (request.reference != nullptr)
    plan.packed = RenamedTypes(request.reference->packed, request.entry, original);
  if (std::ranges::any_of(plan.packed, [](const PackedAs& packed) { return packed.type.empty(); }))
    return EmitFailure{"the original returns an object of a class that has no name at the top of its file"};
  if (std::string why = RefusalOfKernels(plan); !why.empty()) return EmitFailure{std::move(why)};
  auto written = WriteBody(plan, request.is_function ? 8 : 12);
  if (auto* failure = std::get_if<EmitFailure>(&written)) return *failure;
  Body& body = std::get<Body>(written);
  if (request.reference != nullptr) body.written = WrittenText(plan, *request.reference);
  std::vector<std::string> futures;
  const std::string source =
      HoistFutures(RenameIdentifier(request.reference_source, request.entry, original), &futures);
  EmitRequest with_plan = request;
  with_plan.plan = &plan;
  const std::vector<std::string> imports = OwnImports(plan);
  const std::string kernels = KernelTexts(plan, imports);
  std::string own = kGuards;
  if (!body.written.empty()) own += kApart;
  if (!body.state.empty()) own += kStateReader;
  own += kLauncher;
  if (body.scratch) own += kScratch;
  own += kSettings;
  if (!request.is_function) own += kMakeGuards;
  own += request.is_function ? FunctionText(with_plan, body, original) : ClassText(with_plan, body, original);
  if (const std::string name = ClashOf(source, kernels); !name.empty())
    return EmitFailure{fmt::format("the original program and the kernels both define {}", name)};
  if (const std::string name = ClashOf(source, own); !name.empty())
    return EmitFailure{
        fmt::format("the original program defines {}, which means something else in a printed "
                    "module; give it another name",
                    name)};
  std::string out = Docstring(request);
  for (const std::string& line : futures) out += line + "\n";
  out += fmt::format("\n{}\n", fmt::join(imports, "\n"));
  out += fmt::format("\n# The original program, as it was handed in.\n\n{}\n", source);
  out += "# To see what is changed later.\n";
  out += "_ORIGINAL = {name: value for name, value in globals().items() if not name.startswith(\"__\")}\n";
  out += "\n# Triton kernels.\n" + kernels + own;
  return out;
}

}  // namespace tritogen
