#include "verify/work_flow.h"

#include <algorithm>

#include "plan/visit.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

struct Access {
  std::vector<StorageId> reads, writes;
  bool overwrites = false;  // what the written storages held before is gone
};

int64_t BytesOf(const TensorMeta& meta) {
  return meta.numel() * static_cast<int64_t>(DtypeSize(meta.dtype));
}

Access AccessOf(const Plan& plan, const AtenStep& step) {
  Access access;
  auto storage = [&](TensorId id) { return plan.tensors[id].storage; };
  for (TensorId id : ReadArguments(step)) access.reads.push_back(storage(id));
  const std::vector<TensorId> written = WrittenArguments(step);
  for (TensorId id : written) access.writes.push_back(storage(id));
  // A result in a storage that no argument has is fresh; any other result is a view or a written argument.
  bool fresh = false;
  std::vector<StorageId> arguments;
  ForEachUse(step, [&](TensorId id) { arguments.push_back(storage(id)); });
  for (TensorId id : step.outs) {
    if (id == kNoTensor) continue;
    if (std::find(arguments.begin(), arguments.end(), storage(id)) != arguments.end()) continue;
    access.writes.push_back(storage(id));
    fresh = true;
  }
  const std::string_view base = WithoutOverload(step.op);
  const bool fills = base == "aten::copy_" || base == "aten::zero_" || base == "aten::fill_";
  access.overwrites = written.empty()
                          ? fresh
                          : fills && written.size() == 1 &&
                                BytesOf(plan.tensors[written[0]]) >= plan.storages[storage(written[0])];
  return access;
}

Access AccessOf(const Plan& plan, const Step& step) {
  if (const auto* aten = std::get_if<AtenStep>(&step)) return AccessOf(plan, *aten);
  Access access;
  if (const auto* constant = std::get_if<ConstantStep>(&step)) {
    access.writes.push_back(plan.tensors[constant->out].storage);
    access.overwrites = true;
    return access;
  }
  ForEachUse(step, [&](TensorId id) { access.reads.push_back(plan.tensors[id].storage); });
  access.writes = access.reads;
  return access;
}

// Walks `steps` backwards. `live`: storages whose contents matter after the last step, and then before the
// first.
void Trace(const Plan& plan, const std::vector<Step>& steps, std::vector<bool>* live, std::vector<bool>* ever,
           std::vector<bool>* reaches) {
  reaches->assign(steps.size(), false);
  for (size_t i = steps.size(); i-- > 0;) {
    const Access access = AccessOf(plan, steps[i]);
    const bool matters =
        std::any_of(access.writes.begin(), access.writes.end(), [&](StorageId s) { return (*live)[s]; });
    if (!matters) continue;
    (*reaches)[i] = true;
    if (access.overwrites) {
      for (StorageId s : access.writes) (*live)[s] = false;
    }
    for (StorageId s : access.reads) (*live)[s] = (*ever)[s] = true;
  }
}

}  // namespace

Flow FlowOf(const Plan& plan) {
  Flow flow;
  std::vector<bool> live(plan.storages.size(), false);
  ForEachTensor(plan.outputs, [&](TensorId id) { live[plan.tensors[id].storage] = true; });
  flow.storage = live;
  Trace(plan, plan.run, &live, &flow.storage, &flow.run);
  Trace(plan, plan.setup, &live, &flow.storage, &flow.setup);
  return flow;
}

}  // namespace tritogen
