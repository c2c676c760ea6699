#include "verify/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/visit.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

Objection Reject(std::string rule, std::string reason, nlohmann::json evidence = nlohmann::json::object()) {
  return {Outcome::kRejected, std::move(reason), std::move(rule), std::move(evidence)};
}

bool IsTensor(const Value& value) {
  return std::holds_alternative<TensorRef>(value.v);
}

std::optional<Objection> CompareOutput(int index, const TensorMeta& want, const TensorMeta& got) {
  const nlohmann::json place = {{"output", index}};
  if (want.sizes != got.sizes) {
    nlohmann::json evidence = place;
    evidence["expected"] = want.sizes;
    evidence["got"] = got.sizes;
    return Objection{Outcome::kWrongShape,
                     fmt::format("output {} has shape {}, the reference's has {}", index,
                                 ShapeText(got.sizes), ShapeText(want.sizes)),
                     "", evidence};
  }
  if (want.dtype != got.dtype) {
    nlohmann::json evidence = place;
    evidence["expected"] = DtypeName(want.dtype);
    evidence["got"] = DtypeName(got.dtype);
    return Objection{Outcome::kWrongDtype,
                     fmt::format("output {} has dtype {}, the reference's has {}", index,
                                 DtypeName(got.dtype), DtypeName(want.dtype)),
                     "", evidence};
  }
  if (want.on_cuda != got.on_cuda) {
    auto device = [](const TensorMeta& meta) { return meta.on_cuda ? "the GPU" : "the CPU"; };
    return Reject(
        "contract",
        fmt::format("output {} lies on {}, the reference's on {}", index, device(got), device(want)), place);
  }
  return std::nullopt;
}

// Which input (its index) or state entry (its name) shares the tensor's storage.
std::optional<std::string> Owner(const Plan& plan, TensorId id) {
  const StorageId storage = plan.tensors[id].storage;
  const std::vector<TensorId> inputs = TensorLeaves(plan.inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (plan.tensors[inputs[i]].storage == storage) return fmt::format("input {}", i);
  }
  for (const StateEntry& entry : plan.state) {
    if (plan.tensors[entry.tensor].storage == storage) return fmt::format("state '{}'", entry.name);
  }
  return std::nullopt;
}

// Memory that set-up made: what one call returns there, the next one returns as well, or writes over.
bool IsKept(const Plan& plan, TensorId id) {
  const StorageId storage = plan.tensors[id].storage;
  bool made = false;
  for (const Step& step : plan.setup) {
    ForEachResult(step, [&](TensorId other) { made |= plan.tensors[other].storage == storage; });
  }
  return made;
}

Objection Aliases(size_t output, std::string reason, std::string aliases = "") {
  nlohmann::json evidence = {{"output", output}};
  if (!aliases.empty()) evidence["aliases"] = std::move(aliases);
  return Reject("output_aliases", fmt::format("output {} {}", output, reason), std::move(evidence));
}

AtenStep FillWithConstant(const Plan& plan, TensorId id, int line) {
  const Dtype dtype = plan.tensors[id].dtype;
  Value value;
  if (IsFloating(dtype)) {
    value.v = 0.739085;  // nothing that a program would compute or ignore by chance
  } else if (dtype == Dtype::kBool) {
    value.v = true;
  } else {
    value.v = int64_t{1};
  }
  return {"aten::fill_.Scalar", {Value{TensorRef{id}}, value}, {}, {id}, line};
}

}  // namespace

std::string ShapeText(const std::vector<int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

std::optional<Objection> CheckContract(const Plan& reference, const Plan& candidate) {
  const std::vector<TensorId> want_in = TensorLeaves(reference.inputs),
                              got_in = TensorLeaves(candidate.inputs);
  bool same_inputs = want_in.size() == got_in.size();
  for (size_t i = 0; same_inputs && i < want_in.size(); ++i) {
    const TensorMeta &want = reference.tensors[want_in[i]], &got = candidate.tensors[got_in[i]];
    same_inputs = want.sizes == got.sizes && want.dtype == got.dtype;
  }
  if (!same_inputs) return Reject("contract", "the candidate was not recorded with the reference's inputs");

  if (reference.structure != candidate.structure || reference.outputs.size() != candidate.outputs.size()) {
    return Objection{
        Outcome::kWrongShape,
        fmt::format("returns {}, the reference returns {}", candidate.structure, reference.structure),
        "",
        {{"expected", reference.structure}, {"got", candidate.structure}}};
  }
  int index = 0;
  for (size_t i = 0; i < reference.outputs.size(); ++i) {
    const Value &want = reference.outputs[i], &got = candidate.outputs[i];
    if (IsTensor(want) != IsTensor(got) || (!IsTensor(want) && !(want == got))) {
      return Objection{IsTensor(want) == IsTensor(got) ? Outcome::kWrongValues : Outcome::kWrongDtype,
                       fmt::format("leaf {} of the result is not what the reference returns", i),
                       "",
                       {{"leaf", i}}};
    }
    if (!IsTensor(want)) continue;
    auto objection = CompareOutput(index++, reference.tensors[std::get<TensorRef>(want.v).id],
                                   candidate.tensors[std::get<TensorRef>(got.v).id]);
    if (objection) return objection;
  }
  return std::nullopt;
}

std::optional<Objection> CheckAliasing(const Plan& reference, const Plan& candidate) {
  const std::vector<TensorId> want = TensorLeaves(reference.outputs), got = TensorLeaves(candidate.outputs);
  for (size_t i = 0; i < got.size(); ++i) {
    const auto owner = Owner(candidate, got[i]);
    const bool outlives = owner || IsKept(candidate, got[i]);
    const bool may_outlive = Owner(reference, want[i]) || IsKept(reference, want[i]);
    if (owner && !Owner(reference, want[i])) {
      return Aliases(i, fmt::format("is {} itself, the reference makes a new tensor", *owner), *owner);
    }
    if (outlives && !may_outlive) {
      return Aliases(i,
                     "lies in memory that is kept from call to call: what the caller or the next call writes "
                     "there changes both answers, the reference makes a new tensor");
    }
    const TensorMeta &ours = reference.tensors[want[i]], &theirs = candidate.tensors[got[i]];
    if (!theirs.HoldsEachElement() && ours.HoldsEachElement()) {
      return Aliases(i,
                     "is a view whose elements share memory (as expand gives), the reference has memory for "
                     "each of them");
    }
  }
  return std::nullopt;
}

std::string NoteOfLayout(const Plan& reference, const Plan& candidate) {
  const std::vector<TensorId> want = TensorLeaves(reference.outputs), got = TensorLeaves(candidate.outputs);
  for (size_t i = 0; i < got.size(); ++i) {
    const TensorMeta &ours = reference.tensors[want[i]], &theirs = candidate.tensors[got[i]];
    for (size_t d = 0; d < ours.sizes.size() && ours.numel() > 0; ++d) {
      if (ours.sizes[d] == 1 || ours.strides[d] == theirs.strides[d]) continue;
      return fmt::format(
          "output {} has the strides {}, the reference's has {}: what asks for one layout, as "
          "view() does, may work with one and not with the other",
          i, ShapeText(theirs.strides), ShapeText(ours.strides));
    }
  }
  return "";
}

std::string NoteOfTypes(const Plan& reference, const Plan& candidate) {
  auto text = [](const Plan& plan, int container) {
    const auto found = std::ranges::find(plan.packed, container, &PackedAs::container);
    if (found == plan.packed.end()) return std::string("a plain tuple, list or dict");
    const std::string& name = found->type.empty() ? "an object" : found->type;
    return found->fields.empty() ? name : fmt::format("{}({})", name, fmt::join(found->fields, ", "));
  };
  for (const auto* packed : {&reference.packed, &candidate.packed}) {
    for (const PackedAs& one : *packed) {
      const std::string want = text(reference, one.container), got = text(candidate, one.container);
      if (want == got) continue;
      return fmt::format(
          "returns {} where the reference returns {}: callers that name its fields would miss "
          "them (a printed module returns the reference's)",
          got, want);
    }
  }
  return "";
}

std::string NoteOfSharing(const Plan& reference, const Plan& candidate) {
  const std::vector<TensorId> want = TensorLeaves(reference.outputs), got = TensorLeaves(candidate.outputs);
  for (size_t i = 0; i < got.size(); ++i) {
    const auto original = Owner(reference, want[i]);
    if (!original || Owner(candidate, got[i])) continue;
    return fmt::format(
        "output {} is a new tensor, the reference's is {} itself: what a caller writes into it changes that "
        "no "
        "more",
        i, *original);
  }
  for (size_t i = 0; i < got.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (reference.tensors[want[i]].storage == reference.tensors[want[j]].storage) continue;
      if (!candidate.tensors[got[i]].Overlaps(candidate.tensors[got[j]])) continue;
      return fmt::format(
          "outputs {} and {} share memory, the reference's do not: what a caller writes into one changes the "
          "other",
          j, i);
    }
  }
  return "";
}

std::optional<Objection> CheckHostCopies(const Plan& reference, const Plan& candidate, const Flow& flow) {
  auto leaves = [](const Plan& plan, const Step& step) {
    bool from_gpu = false, to_cpu = false;
    ForEachUse(step, [&](TensorId id) { from_gpu |= plan.tensors[id].on_cuda; });
    ForEachResult(step, [&](TensorId id) { to_cpu |= !plan.tensors[id].on_cuda; });
    return from_gpu && to_cpu;
  };
  for (const Step& step : reference.run) {
    if (leaves(reference, step)) return std::nullopt;
  }
  for (size_t i = 0; i < candidate.run.size(); ++i) {
    const auto* aten = std::get_if<AtenStep>(&candidate.run[i]);
    if (aten == nullptr || !flow.run[i] || !leaves(candidate, candidate.run[i])) continue;
    return Reject(
        "host_copy",
        fmt::format("{} copies from the GPU to the CPU, the reference does not: the host would wait "
                    "for it in every call, and no time that is measured here shows that",
                    aten->op),
        {{"op", aten->op}, {"line", aten->line}});
  }
  return std::nullopt;
}

std::optional<Objection> CheckAddresses(const Plan& candidate) {
  for (const Kernel& kernel : candidate.kernels) {
    if (kernel.ttir.find("tt.ptr_to_int") == std::string::npos) continue;
    return Reject(
        "raw_pointer",
        fmt::format("kernel {} makes a number of a buffer's address, so that what it does could depend "
                    "on where the buffer lies",
                    kernel.name),
        {{"kernel", kernel.name}});
  }
  return std::nullopt;
}

std::optional<Objection> CheckTriton(const Plan& candidate, const Flow& flow, Mode mode) {
  bool launches = false, live = false;
  for (size_t i = 0; i < candidate.run.size(); ++i) {
    const bool launch = std::holds_alternative<LaunchStep>(candidate.run[i]);
    launches |= launch;
    live |= launch && flow.run[i];
  }
  if (!live) {
    return Reject("no_triton", launches ? "no Triton launch has a result that reaches an output"
                                        : "forward launches no Triton kernel");
  }
  if (mode != Mode::kStrict) return std::nullopt;
  for (const Step& step : candidate.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr || KindOf(candidate, *aten) != OpKind::kCompute) continue;
    return Reject("strict", fmt::format("{} computes outside Triton", aten->op),
                  {{"op", aten->op}, {"line", aten->line}});
  }
  return std::nullopt;
}

std::optional<Objection> CheckCopies(const Plan& candidate, const WorkShare& share, Mode mode) {
  if (mode != Mode::kStrict || share.share() >= 0.5) return std::nullopt;
  for (const Step& step : candidate.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr || KindOf(candidate, *aten) != OpKind::kLayout) continue;
    return Reject("strict",
                  fmt::format("{} and the like move {:.0f} % of what the reference moves", aten->op,
                              100 * (1 - share.share())),
                  {{"op", aten->op}, {"line", aten->line}});
  }
  return std::nullopt;
}

std::optional<Objection> CheckRandom(const Plan& reference, const Plan& candidate, const Flow& flow) {
  auto draws = [](const Step& step) {
    const auto* aten = std::get_if<AtenStep>(&step);
    return aten != nullptr && DrawsRandom(*aten);
  };
  if (std::any_of(reference.run.begin(), reference.run.end(), draws)) return std::nullopt;
  for (size_t i = 0; i < candidate.run.size(); ++i) {
    if (!flow.run[i] || !draws(candidate.run[i])) continue;
    const AtenStep& step = std::get<AtenStep>(candidate.run[i]);
    return Reject(
        "random",
        fmt::format("{} draws random numbers, the reference draws none: what is right in some calls "
                    "need not be in others",
                    step.op),
        {{"op", step.op}, {"line", step.line}});
  }
  return std::nullopt;
}

Plan WithoutLaunches(const Plan& candidate) {
  Plan plan = candidate;
  std::vector<bool> written(plan.storages.size(), false);
  auto mark = [&](TensorId id) { written[plan.tensors[id].storage] = true; };
  ForEachTensor(plan.inputs, mark);
  ForEachTensor(plan.init_inputs, mark);
  ForEachTensor(plan.warmup_inputs, mark);
  auto note = [&](const Step& step) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten != nullptr && KindOf(plan, *aten) == OpKind::kView) return;
    const bool empty = aten != nullptr && WithoutOverload(aten->op).find("empty") != std::string_view::npos;
    if (!empty) ForEachResult(step, mark);
    if (aten == nullptr) ForEachUse(step, mark);
  };
  for (const Step& step : plan.setup) note(step);
  plan.run.clear();
  for (const Step& step : candidate.run) {
    if (!std::holds_alternative<LaunchStep>(step)) {
      note(step);
      plan.run.push_back(step);
      continue;
    }
    ForEachUse(step, [&](TensorId id) {
      if (written[plan.tensors[id].storage]) return;
      mark(id);
      plan.run.push_back(FillWithConstant(plan, id, LineOf(step)));
    });
  }
  return plan;
}

}  // namespace tritogen
