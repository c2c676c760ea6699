#include "emit/emit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/wrapper.h"

namespace tritogen {
namespace {

Value Ref(TensorId id) {
  return {TensorRef{id}};
}

// out = relu_kernel(x) into a fresh buffer; `weight` is state and `packed` is made from it in set-up.
Plan SmallPlan() {
  Plan plan;
  plan.storages = {64, 64, 64, 64};
  for (StorageId id = 0; id < 4; ++id) plan.tensors.push_back({id, Dtype::kFloat32, {4, 4}, {4, 1}, 0, true});
  plan.kernels = {{.name = "relu_kernel",
                   .ttir = "module {}",
                   .source = "@triton.jit\ndef relu_kernel(x, w, out, N: tl.constexpr):\n    pass\n",
                   .support = "",
                   .options = {.num_warps = 8, .enable_fp_fusion = false}}};
  plan.inputs = {Ref(0)};
  plan.state = {{"linear.weight", 1, true}};
  plan.setup = {AtenStep{.op = "aten::t", .args = {Ref(1)}, .outs = {2}}};
  LaunchVariant first{.kernel = 0,
                      .grid = {4, 1, 1},
                      .args = {PointerArg{0}, PointerArg{1}, PointerArg{3}},
                      .call = {{"x", Ref(0)}, {"w", Ref(1)}, {"out", Ref(3)}, {"N", {int64_t{16}}}}};
  LaunchVariant second = first;
  second.grid = {2, 3, 1};
  plan.run = {
      AtenStep{
          .op = "aten::empty_like", .args = {Ref(0)}, .kwargs = {{"dtype", {Dtype::kFloat32}}}, .outs = {3}},
      LaunchStep{.variants = {first, second}}};
  plan.outputs = {Ref(3)};
  plan.structure = "(*,)";
  return plan;
}

EmitRequest RequestFor(const Plan& plan) {
  return {
      .plan = &plan,
      .reference_source =
          "from __future__ import annotations\nimport torch.nn as nn\nclass Model(nn.Module):\n    pass\n",
      .entry = "Model",
      .header = {"Title."}};
}

// Triton asks for memory for them on GPUs that have descriptors, of whatever allocator its thread has.
TEST(EmitModule, GivesMemoryToKernelsThatMakeDescriptors) {
  Plan plan = SmallPlan();
  const auto text = [&](bool is_function) {
    EmitRequest request = RequestFor(plan);
    request.is_function = is_function;
    return std::get<std::string>(EmitModule(request));
  };
  const std::string in_forward = "device = x0.device\n        triton.set_allocator(_scratch)\n";
  EXPECT_EQ(text(false).find("_scratch"), std::string::npos);
  plan.kernels[0].ttir = "%0 = tt.make_tensor_descriptor %x, [%n], [%one] : !tt.ptr<f32>";
  EXPECT_NE(text(false).find("def _scratch(size, alignment, stream):"), std::string::npos);
  EXPECT_NE(text(false).find(in_forward), std::string::npos) << text(false);
  plan.state.clear();
  plan.setup.clear();
  plan.run.pop_back();
  plan.outputs = {Ref(0)};
  EXPECT_NE(text(true).find("device = x0.device\n    triton.set_allocator(_scratch)\n"), std::string::npos)
      << text(true);
}

TEST(EmitModule, PrintsLaunchesBuffersAndGuards) {
  const Plan plan = SmallPlan();
  auto emitted = EmitModule(RequestFor(plan));
  ASSERT_TRUE(std::holds_alternative<std::string>(emitted));
  const std::string& text = std::get<std::string>(emitted);
  EXPECT_EQ(text.find("\"\"\"Title.\n\"\"\"\nfrom __future__ import annotations\n"), 0u) << text;
  for (const char* piece :
       {"class OriginalModel(nn.Module):", "class Model(OriginalModel):",
        "_Meta((4, 4), (4, 1), torch.float32)", "buffer0 = torch.empty_like(x0, dtype=torch.float32)",
        "_launch(\n", "kept, 0, relu_kernel, (4, 1, 1), {\"num_warps\": 8, \"enable_fp_fusion\": False},\n",
        "((\"linear\",), \"weight\"),\n", "(linear_weight,) = state\n", "w=linear_weight,\n",
        "return (buffer0,)", "return super().forward(*args, **kwargs)"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " is not in\n" << text;
  }
  EXPECT_EQ(text.find("_prepared"), std::string::npos) << "run reads nothing that set-up made";
}

TEST(EmitModule, TheHeaderIsTextWhateverItSays) {
  const Plan plan = SmallPlan();
  EmitRequest request = RequestFor(plan);
  request.header = {"a\\u.py", "x\"\"\"\"y", "it's \"z\""};
  const std::string text = std::get<std::string>(EmitModule(request));
  EXPECT_TRUE(text.starts_with(R"("""a\\u.py
x\"\"""y
it's "z"
"""
)")) << text.substr(0, 60);
}

TEST(EmitModule, CountersThatFollowEachOtherAreOneCall) {
  Plan plan = SmallPlan();
  for (const char* name : {"a.batches", "b.batches", "c.batches"}) {
    const auto storage = static_cast<StorageId>(plan.storages.size());
    const auto id = static_cast<TensorId>(plan.tensors.size());
    plan.storages.push_back(8);
    plan.tensors.push_back({storage, Dtype::kInt64, {}, {}, 0, true});
    plan.state.push_back({name, id, false});
    plan.run.push_back(AtenStep{.op = "aten::add_.Tensor", .args = {Ref(id), {int64_t{1}}}, .outs = {id}});
  }
  const auto text = [&] { return std::get<std::string>(EmitModule(RequestFor(plan))); };
  EXPECT_NE(text().find("torch._foreach_add_((a_batches, b_batches, c_batches), 1)\n"), std::string::npos)
      << text();
  std::get<AtenStep>(plan.run.back()).args[1] = {int64_t{2}};
  EXPECT_NE(text().find("torch._foreach_add_((a_batches, b_batches), 1)\n"), std::string::npos) << text();
  EXPECT_NE(text().find("aten.add_.Tensor(c_batches, 2)\n"), std::string::npos) << "another number";
  plan.run.push_back(plan.run[plan.run.size() - 2]);
  std::get<AtenStep>(plan.run[plan.run.size() - 2]) = std::get<AtenStep>(plan.run.back());
  EXPECT_NE(text().find("aten.add_.Tensor(b_batches, 1)\n"), std::string::npos) << "one twice";
}

TEST(EmitModule, GuardsWhatTheModuleIsMadeWith) {
  Plan plan = SmallPlan();
  plan.init_inputs = {{int64_t{3}}, {Value::List{{1.5}, {std::string("mode")}}}, {DeviceValue{true}}, Ref(0)};
  const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
  for (const char* piece :
       {"_MADE_WITH = (\n    3,\n    [1.5, \"mode\"],\n    torch.device(\"cuda\"),\n    _Meta((4, 4), (4, "
        "1), torch.float32),\n)",
        "and self._made_alike\n", "and _unchanged(self, True)\n", "and _only_values()\n",
        "inspect.signature(OriginalModel.__init__)"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " is not in\n" << text;
  }
}

TEST(EmitModule, GuardsDictsByTheirKeys) {
  Plan plan = SmallPlan();
  plan.init_inputs = {{Value::Dict{"", {"width", "sizes"}, {{int64_t{3}}, {Value::List{{1.5}}}}}}};
  plan.inputs = {{Value::Dict{"", {"factor", "image"}, {{int64_t{2}}, Ref(0)}}}};
  const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
  for (const char* piece :
       {"_MADE_WITH = (\n    {\"width\": 3, \"sizes\": [1.5]},\n)",
        "_INPUTS = (\n    {\"factor\": 2, \"image\": _Meta((4, 4), (4, 1), torch.float32)},\n)",
        "device = x0[\"image\"].device\n", "torch.empty_like(x0[\"image\"], dtype=torch.float32)"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " is not in\n" << text;
  }
}

TEST(EmitModule, NoNameOfTheStateHidesAnother) {
  Plan plan = SmallPlan();
  plan.kernels[0].name = "linear_weight";
  EXPECT_NE(std::get<std::string>(EmitModule(RequestFor(plan))).find("w=linear_weight_1,\n"),
            std::string::npos);
  plan.kernels[0].name = "relu_kernel";
  for (const char* taken : {"kept", "x0", "buffer0", "torch"}) {
    plan.state[0].name = taken;
    const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
    EXPECT_NE(text.find(fmt::format("((), \"{}\"),\n", taken)), std::string::npos) << text;
    const auto name = taken == std::string_view("buffer0") ? "buffer0" : fmt::format("{}_1", taken);
    EXPECT_NE(text.find(fmt::format("w={},\n", name)), std::string::npos) << text;
    EXPECT_EQ(text.find(fmt::format("out={},\n", name)), std::string::npos) << text;
  }
}

TEST(EmitModule, GuardsTheModeOnlyWhereItMatters) {
  const Plan plan = SmallPlan();
  EmitRequest request = RequestFor(plan);
  EXPECT_NE(std::get<std::string>(EmitModule(request)).find("and self.training is False\n"),
            std::string::npos);
  request.mode_matters = false;
  EXPECT_EQ(std::get<std::string>(EmitModule(request)).find("self.training"), std::string::npos);
}

// The small plan with launches that have these numbers as N.
Plan PlanWithLaunches(const std::vector<int64_t>& numbers) {
  Plan plan = SmallPlan();
  const Step launch = plan.run[1];
  plan.run.resize(1);
  for (const int64_t number : numbers) {
    plan.run.push_back(launch);
    std::get<LaunchStep>(plan.run.back()).variants[0].call[3].second = {number};
  }
  return plan;
}

TEST(EmitModule, LaunchesThatCountArePrintedAsALoop) {
  const auto text = [](const std::vector<int64_t>& numbers) {
    const Plan plan = PlanWithLaunches(numbers);
    return std::get<std::string>(EmitModule(RequestFor(plan)));
  };
  const auto launches = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(", relu_kernel, (4, 1, 1), {", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  std::string counted = text({0, 1, 2, 3});
  EXPECT_NE(counted.find("            for i1 in range(4):\n                _launch("), std::string::npos)
      << counted;
  EXPECT_NE(counted.find("N=i1,"), std::string::npos) << counted;
  EXPECT_EQ(launches(counted), 1u);
  EXPECT_NE(text({5, 8, 11}).find("in range(5, 12, 3):"), std::string::npos);
  // A loop ends where the next number is another than the loop's; two launches are none.
  counted = text({2, 3, 4, 6, 7});
  EXPECT_NE(counted.find("in range(2, 5):"), std::string::npos) << counted;
  EXPECT_EQ(launches(counted), 3u) << counted;
  EXPECT_EQ(text({7, 7, 7}).find(" in range("), std::string::npos);
}

TEST(EmitModule, LaunchesThatDifferInMoreThanANumberAreNoLoop) {
  Plan plan = PlanWithLaunches({0, 1, 2});
  std::get<LaunchStep>(plan.run[2]).variants[0].grid = {5, 1, 1};
  EXPECT_EQ(std::get<std::string>(EmitModule(RequestFor(plan))).find(" in range("), std::string::npos);
  plan = PlanWithLaunches({0, 1, 2});
  std::get<LaunchStep>(plan.run[2]).variants[0].call[0].second = Ref(3);
  EXPECT_EQ(std::get<std::string>(EmitModule(RequestFor(plan))).find(" in range("), std::string::npos);
}

TEST(EmitModule, ChoosesTheVariant) {
  const Plan plan = SmallPlan();
  EmitRequest request = RequestFor(plan);
  request.variant = 1;
  const auto emitted = EmitModule(request);
  EXPECT_NE(std::get<std::string>(emitted).find("kept, 0, relu_kernel, (2, 3, 1), {"), std::string::npos);
  EXPECT_EQ(std::get<LaunchStep>(WithVariant(plan, 3).run[1]).variants.size(), 1u);
}

// `weight.data.mul_(2)` leaves no trace, so nothing that is made from weights is kept.
TEST(EmitModule, CallsPrepareWhatSetupMakesFromTheState) {
  Plan plan = SmallPlan();
  for (LaunchVariant& variant : std::get<LaunchStep>(plan.run[1]).variants) {
    variant.args[1] = PointerArg{2};
    variant.call[1].second = Ref(2);
  }
  const auto emitted = EmitModule(RequestFor(plan));
  ASSERT_TRUE(std::holds_alternative<std::string>(emitted));
  const std::string& text = std::get<std::string>(emitted);
  const size_t run = text.find("def _run_kernels(self, state, x0)");
  EXPECT_NE(text.find("            t0 = torch.ops.aten.t.default(linear_weight)", run), std::string::npos)
      << text;
  EXPECT_EQ(text.find("_tables"), std::string::npos) << text;
}

TEST(EmitModule, AFunctionKeepsItsTablesByGpu) {
  Plan plan = SmallPlan();
  plan.state.clear();
  plan.setup = {ConstantStep{.out = 2, .data = std::vector<uint8_t>(64)}};
  for (LaunchVariant& variant : std::get<LaunchStep>(plan.run[1]).variants) {
    variant.args[1] = PointerArg{2};
    variant.call[1].second = Ref(2);
  }
  EmitRequest request = RequestFor(plan);
  request.reference_source = "def relu(x):\n    return x\n";
  request.entry = "relu";
  request.is_function = true;
  const auto emitted = EmitModule(request);
  ASSERT_TRUE(std::holds_alternative<std::string>(emitted));
  const std::string& text = std::get<std::string>(emitted);
  EXPECT_NE(text.find("    (constant0,) = _tables(device)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("        _TABLES[device.index] = (constant0,)\n"), std::string::npos) << text;
}

TEST(EmitModule, PreparesCopiesOfViewsOfTheState) {
  Plan plan = SmallPlan();
  plan.tensors.push_back(
      {1, Dtype::kFloat32, {4, 4}, {1, 4}, 0, true});  // the weight, turned: no memory of its own
  plan.setup = {AtenStep{.op = "aten::t", .args = {Ref(1)}, .outs = {4}},
                AtenStep{.op = "aten::clone", .args = {Ref(4)}, .outs = {2}}};
  for (LaunchVariant& variant : std::get<LaunchStep>(plan.run[1]).variants) {
    variant.args[1] = PointerArg{2};
    variant.call[1].second = Ref(2);
  }
  const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
  EXPECT_NE(text.find("t0 = torch.ops.aten.t.default(linear_weight)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("t1 = torch.ops.aten.clone.default(t0)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("_tables"), std::string::npos) << text;
}

// Two calls on two streams must not work in one place.
TEST(EmitModule, CallsMakeTheirWorkspaces) {
  Plan plan = SmallPlan();
  plan.setup = {
      AtenStep{.op = "aten::zeros", .args = {{Value::List{{int64_t{4}}, {int64_t{4}}}}}, .outs = {2}}};
  for (LaunchVariant& variant : std::get<LaunchStep>(plan.run[1]).variants) {
    variant.args[1] = PointerArg{2};
    variant.call[1].second = Ref(2);
  }
  const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
  EXPECT_NE(text.find("torch.zeros", text.find("def _run_kernels")), std::string::npos) << text;
  EXPECT_EQ(text.find("_tables"), std::string::npos) << text;
}

TEST(EmitModule, RefusesRandomTensorsThatNoStateDictHolds) {
  Plan plan = SmallPlan();
  plan.setup = {
      AtenStep{.op = "aten::randn", .args = {{Value::List{{int64_t{4}}, {int64_t{4}}}}}, .outs = {2}}};
  std::get<LaunchStep>(plan.run[1]).variants[0].args[1] = PointerArg{2};
  const auto emitted = EmitModule(RequestFor(plan));
  ASSERT_TRUE(std::holds_alternative<EmitFailure>(emitted));
  EXPECT_NE(std::get<EmitFailure>(emitted).reason.find("aten::randn"), std::string::npos);
}

TEST(EmitModule, PrintsLaunchArgumentsAsTritonTakesThem) {
  Plan plan = SmallPlan();
  LaunchVariant& variant = std::get<LaunchStep>(plan.run[1]).variants[0];
  variant.args[0] =
      DescriptorArg{.tensor = 0, .shape = {4, 4}, .strides = {4, 1}, .block = {2, 4}, .pad_nan = true};
  variant.call[3].second = {Dtype::kFloat8E4M3};
  variant.call.push_back({"DIMS", {Value::List{{int64_t{4}}, {Dtype::kFloat16}}}});
  variant.call.push_back({"ONE", {Value::List{{int64_t{4}}}}});
  variant.call.push_back({"FN", {FunctionValue{"twice"}}});
  variant.call.push_back({"WORD", {std::string("twice")}});
  const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
  for (const char* piece :
       {"x=TensorDescriptor(x0, [4, 4], [4, 1], [2, 4], padding=\"nan\")", "w=linear_weight", "out=buffer0",
        "N=tl.float8e4nv", "DIMS=(4, tl.float16)", "ONE=(4,)", "FN=twice", "WORD=\"twice\"",
        "from triton.tools.tensor_descriptor import TensorDescriptor\n"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " is not in\n" << text;
  }
}

TEST(EmitModule, PrintsWhatKernelsShareOnce) {
  Plan plan = SmallPlan();
  Kernel other = plan.kernels[0];
  other.name = "other";
  other.source = "@triton.jit\ndef other():\n    pass\n";
  const std::string imports =
      "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n";
  const std::string helper = "@triton.jit\ndef twice(x):\n    return x * 2\n";
  plan.kernels[0].support = imports + helper;
  other.support = imports + helper + "SCALE = 2\n";
  plan.kernels.push_back(other);
  const std::string text = std::get<std::string>(EmitModule(RequestFor(plan)));
  auto count = [&](const std::string& piece) {
    int found = 0;
    for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("import triton\n"), 1) << text;
  EXPECT_EQ(count("import triton.language as tl\n"), 1);
  EXPECT_EQ(count("import libdevice\n"), 1);
  EXPECT_EQ(count("def twice("), 1);
  EXPECT_EQ(count("SCALE = 2\n"), 1);
  EXPECT_LT(text.find("SCALE = 2"), text.find("def other("));
}

TEST(HostMicroseconds, GrowsWithLaunchesMostOfAll) {
  const double few = HostMicroseconds(PlanWithLaunches({1})),
               more = HostMicroseconds(PlanWithLaunches({1, 2}));
  Plan calls = PlanWithLaunches({1});
  calls.run.push_back(calls.run[0]);
  EXPECT_GT(few, 0);
  EXPECT_GT(HostMicroseconds(calls), few);
  EXPECT_GT(more, HostMicroseconds(calls));
}

TEST(Wrapper, FillsTheStructureOutsideOfKeys) {
  Plan plan = SmallPlan();
  plan.structure = "{\"a*b\":*,\"c\":[*]}";
  plan.outputs = {Ref(0), {int64_t{7}}};
  Wrapper wrapper(plan);
  wrapper.Name(0, "x0");
  EXPECT_EQ(wrapper.Outputs(), "{\"a*b\": x0, \"c\": [7]}");
}

TEST(Wrapper, ReturnsTheTypesOfTheOriginal) {
  Plan plan = SmallPlan();
  plan.structure = "[(*,*),(*,),{\"a\":*,3:*},{\"k\\\"}\":*},(*)]";
  plan.packed = {{1, "Pair", {"first", "second"}},
                 {3, "Record", {"a", "b"}},
                 {4, "OrderedDict", {}},
                 {5, "torch.return_types.max", {"values"}}};
  plan.outputs.assign(7, Ref(0));
  Wrapper wrapper(plan);
  wrapper.Name(0, "x0");
  EXPECT_EQ(wrapper.Outputs(),
            "[Pair(first=x0, second=x0), (x0,), Record(a=x0, b=x0), OrderedDict({\"k\\\"}\": x0}), "
            "torch.return_types.max((x0,))]");
}

}  // namespace
}  // namespace tritogen
