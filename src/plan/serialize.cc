#include "plan/serialize.h"

#include "base/overloaded.h"

namespace tritogen {
namespace {

using nlohmann::json;

template <typename T, typename F>
json List(const std::vector<T>& items, F convert) {
  json list = json::array();
  for (const T& item : items) list.push_back(convert(item));
  return list;
}

json FromValue(const Value& value) {
  return ToJson(value, [](TensorId id) { return json{{"t", id}}; });
}

json FromTensor(const TensorMeta& meta) {
  return json::array({meta.storage, DtypeName(meta.dtype), meta.sizes, meta.strides, meta.offset,
                      meta.on_cuda ? "cuda" : "cpu"});
}

json FromDescriptor(const DescriptorArg& desc) {
  return {{"desc",
           {{"t", desc.tensor},
            {"shape", desc.shape},
            {"strides", desc.strides},
            {"block", desc.block},
            {"padding", desc.pad_nan ? "nan" : "zero"}}}};
}

json FromKernelArg(const KernelArg& arg) {
  return std::visit(Overloaded{
                        [](PointerArg v) {
                          return json{{"ptr", v.tensor}};
                        },
                        [](int64_t v) { return json(v); },
                        [](double v) { return json(v); },
                        [](const DescriptorArg& v) { return FromDescriptor(v); },
                    },
                    arg);
}

json FromVariant(const LaunchVariant& variant) {
  json call = json::array();
  for (const auto& [name, value] : variant.call) call.push_back(json::array({name, FromValue(value)}));
  return {{"kernel", variant.kernel},
          {"grid", variant.grid},
          {"args", List(variant.args, FromKernelArg)},
          {"call", std::move(call)}};
}

json FromAten(const AtenStep& step) {
  json kwargs = json::object();
  for (const auto& [name, value] : step.kwargs) kwargs[name] = FromValue(value);
  return {{"op", step.op},
          {"args", List(step.args, FromValue)},
          {"kwargs", std::move(kwargs)},
          {"outs", step.outs},
          {"line", step.line}};
}

json FromStep(const Step& step) {
  return std::visit(
      Overloaded{
          [](const AtenStep& s) { return FromAten(s); },
          [](const ConstantStep& s) {
            return json{{"op", "constant"}, {"out", s.out}, {"data", json::binary(s.data)}, {"line", s.line}};
          },
          [](const LaunchStep& s) {
            return json{{"op", "launch"}, {"variants", List(s.variants, FromVariant)}, {"line", s.line}};
          },
      },
      step);
}

json FromKernel(const Kernel& kernel) {
  return {{"name", kernel.name},
          {"ttir", kernel.ttir},
          {"source", kernel.source},
          {"support", kernel.support},
          {"options", ToJson(kernel.options)}};
}

json FromState(const StateEntry& entry) {
  return json::array({entry.name, entry.tensor, entry.is_parameter ? "parameter" : "buffer"});
}

}  // namespace

json ToJson(const Value& value, const std::function<json(TensorId)>& of_tensor) {
  const auto of_item = [&](const Value& item) { return ToJson(item, of_tensor); };
  return std::visit(Overloaded{
                        [](std::monostate) { return json(nullptr); },
                        [&](TensorRef v) { return of_tensor(v.id); },
                        [](Dtype v) {
                          return json{{"dtype", DtypeName(v)}};
                        },
                        [](DeviceValue v) {
                          return json{{"device", v.cuda ? "cuda" : "cpu"}};
                        },
                        [](const LayoutValue& v) {
                          return json{{"layout", v.name}};
                        },
                        [](const MemoryFormatValue& v) {
                          return json{{"memory_format", v.name}};
                        },
                        [](const FunctionValue& v) {
                          return json{{"function", v.name}};
                        },
                        [&](const Value::List& v) { return List(v, of_item); },
                        [&](const Value::Dict& v) {
                          json entries = json::array();
                          for (size_t i = 0; i < v.keys.size(); ++i)
                            entries.push_back(json::array({v.keys[i], of_item(v.items[i])}));
                          if (v.type.empty()) return json{{"dict", std::move(entries)}};
                          return json{{"object", json::array({v.type, std::move(entries)})}};
                        },
                        [](const auto& plain) { return json(plain); },
                    },
                    value.v);
}

nlohmann::json ToJson(const KernelOptions& options) {
  const KernelOptions defaults;
  json map = {{"num_warps", options.num_warps},
              {"num_stages", options.num_stages},
              {"num_ctas", options.num_ctas},
              {"maxnreg", options.maxnreg ? json(options.maxnreg) : json(nullptr)}};
  auto write = [&](const char* name, bool KernelOptions::*option) {
    if (options.*option != defaults.*option) map[name] = options.*option;
  };
  write("enable_fp_fusion", &KernelOptions::enable_fp_fusion);
  write("enable_reflect_ftz", &KernelOptions::enable_reflect_ftz);
  write("launch_cooperative_grid", &KernelOptions::launch_cooperative_grid);
  write("launch_pdl", &KernelOptions::launch_pdl);
  return map;
}

json ToJson(const Plan& plan) {
  json map = {{"version", 1},
              {"role", plan.role == Role::kReference ? "reference" : "candidate"},
              {"storages", plan.storages},
              {"tensors", List(plan.tensors, FromTensor)},
              {"kernels", List(plan.kernels, FromKernel)},
              {"generate", List(plan.generate, FromStep)},
              {"setup", List(plan.setup, FromStep)},
              {"run", List(plan.run, FromStep)},
              {"init_inputs", List(plan.init_inputs, FromValue)},
              {"inputs", List(plan.inputs, FromValue)},
              {"warmup_inputs", List(plan.warmup_inputs, FromValue)},
              {"state", List(plan.state, FromState)},
              {"outputs", List(plan.outputs, FromValue)},
              {"structure", plan.structure},
              {"training", plan.training}};
  if (!plan.unsaved.empty()) map["unsaved"] = List(plan.unsaved, FromState);
  if (!plan.packed.empty()) {
    map["packed"] = List(plan.packed, [](const PackedAs& packed) {
      return json::array({packed.container, packed.type, packed.fields});
    });
  }
  if (!plan.changed.empty()) map["changed"] = plan.changed;
  return map;
}

}  // namespace tritogen
