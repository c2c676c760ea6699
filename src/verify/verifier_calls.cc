#include "verify/verifier_calls.h"

#include "plan/visit.h"

namespace tritogen {
namespace {

// Gives every tensor and storage that belongs to one call an id of its own.
class Copier {
 public:
  explicit Copier(Plan* plan)
      : plan_(*plan), shared_tensor_(plan->tensors.size()), shared_storage_(plan->storages.size()) {
    auto share = [this](TensorId id) {
      shared_tensor_[id] = true;
      shared_storage_[plan_.tensors[id].storage] = true;
    };
    for (const Step& step : plan_.setup) {
      ForEachUse(step, share);
      ForEachResult(step, share);
    }
    ForEachTensor(plan_.init_inputs, share);
    ForEachTensor(plan_.warmup_inputs, share);
    for (const StateEntry& entry : plan_.state) share(entry.tensor);
    tensor_.assign(plan_.tensors.size(), kNoTensor);
    storage_.assign(plan_.storages.size(), -1);
  }

  TensorId Map(TensorId id) {
    if (id == kNoTensor || shared_tensor_[id]) return id;
    if (tensor_[id] == kNoTensor) {
      TensorMeta meta = plan_.tensors[id];
      meta.storage = MapStorage(meta.storage);
      tensor_[id] = static_cast<TensorId>(plan_.tensors.size());
      plan_.tensors.push_back(std::move(meta));
    }
    return tensor_[id];
  }

  bool Shares(TensorId id) const {
    const auto count = static_cast<StorageId>(shared_storage_.size());
    const StorageId storage = id == kNoTensor ? -1 : plan_.tensors[id].storage;
    return storage >= 0 && storage < count && shared_storage_[storage];
  }

  void Rename(Value* value) {
    if (auto* tensor = std::get_if<TensorRef>(&value->v)) tensor->id = Map(tensor->id);
    if (Value::List* items = Items(value)) Rename(items);
  }
  void Rename(std::vector<Value>* values) {
    for (Value& value : *values) Rename(&value);
  }

  void Rename(AtenStep* step) {
    Rename(&step->args);
    for (auto& [name, value] : step->kwargs) Rename(&value);
    for (TensorId& id : step->outs) id = Map(id);
  }
  void Rename(ConstantStep* step) { step->out = Map(step->out); }
  void Rename(LaunchStep* step) {
    for (LaunchVariant& variant : step->variants) {
      for (KernelArg& arg : variant.args) {
        if (auto* pointer = std::get_if<PointerArg>(&arg)) pointer->tensor = Map(pointer->tensor);
        if (auto* desc = std::get_if<DescriptorArg>(&arg)) desc->tensor = Map(desc->tensor);
      }
      for (auto& [name, value] : variant.call) Rename(&value);
    }
  }

 private:
  StorageId MapStorage(StorageId id) {
    if (shared_storage_[id]) return id;
    if (storage_[id] < 0) {
      storage_[id] = static_cast<StorageId>(plan_.storages.size());
      plan_.storages.push_back(plan_.storages[id]);
    }
    return storage_[id];
  }

  Plan& plan_;
  std::vector<bool> shared_tensor_, shared_storage_;
  std::vector<TensorId> tensor_;
  std::vector<StorageId> storage_;
};

// Of a result that lies where later calls write (state that forward returns), what it is after its own call.
void KeepShared(const Copier& copier, Value* result, Plan* row) {
  if (Value::List* items = Items(result)) {
    for (Value& item : *items) KeepShared(copier, &item, row);
  }
  auto* tensor = std::get_if<TensorRef>(&result->v);
  if (tensor == nullptr || !copier.Shares(tensor->id)) return;
  TensorMeta meta = row->tensors[tensor->id];
  meta.storage = static_cast<StorageId>(row->storages.size());
  meta.offset = 0;
  int64_t stride = 1;
  for (size_t i = meta.sizes.size(); i-- > 0; stride *= meta.sizes[i]) meta.strides[i] = stride;
  row->storages.push_back(stride * static_cast<int64_t>(DtypeSize(meta.dtype)));
  const auto copy = static_cast<TensorId>(row->tensors.size());
  row->tensors.push_back(std::move(meta));
  row->run.emplace_back(AtenStep{.op = "aten::clone",
                                 .args = {*result},
                                 .kwargs = {{"memory_format", {MemoryFormatValue{"contiguous_format"}}}},
                                 .outs = {copy}});
  tensor->id = copy;
}

}  // namespace

Plan CallsInARow(const Plan& plan, size_t count) {
  Plan row = plan;
  row.inputs.clear();
  row.run.clear();
  row.outputs.clear();
  for (size_t call = 0; call < count; ++call) {
    Copier copier(&row);
    auto append = [&](const std::vector<Value>& from, std::vector<Value>* to) {
      for (Value value : from) {
        if (call > 0) copier.Rename(&value);
        to->push_back(std::move(value));
      }
    };
    append(plan.inputs, &row.inputs);
    for (Step step : plan.run) {
      if (call > 0) std::visit([&](auto& s) { copier.Rename(&s); }, step);
      row.run.push_back(std::move(step));
    }
    const auto first = row.outputs.size();
    append(plan.outputs, &row.outputs);
    for (size_t i = first; i < row.outputs.size(); ++i) KeepShared(copier, &row.outputs[i], &row);
  }
  return row;
}

Plan WithWrittenInputs(const Plan& plan, const std::vector<bool>& written) {
  Plan extended = plan;
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  for (size_t i = 0; i < leaves.size() && i < written.size(); ++i) {
    if (written[i]) extended.outputs.push_back(Value{TensorRef{leaves[i]}});
  }
  return extended;
}

}  // namespace tritogen
