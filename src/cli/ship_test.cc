// Real programs through the recorder, so that what the wrapper prints is checked by what it records to.
#include "cli/ship.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tritogen {
namespace {

// One for all tests: it takes seconds to warm up.
Recorder& Shared() {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  static Recorder recorder({.python = python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python",
                            .worker_folder = TRITOGEN_SOURCE_DIR "/worker"});
  return recorder;
}

const RecordRequest& Reference() {
  static const RecordRequest request{.role = Role::kReference,
                                     .source = R"(
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0
def get_inputs():
    return [torch.randn(64, 128)]
def get_init_inputs():
    return []
)",
                                     .entry = "Model"};
  return request;
}

Plan Recorded(const RecordRequest& request) {
  auto recorded = Shared().Record(request);
  if (auto* failure = std::get_if<RecordFailure>(&recorded)) throw std::runtime_error(failure->message);
  return std::get<Plan>(std::move(recorded));
}

// The module that a candidate with these kernels and this body of forward becomes.
std::string Shipped(const std::string& kernels, const std::string& body, int variant = 0) {
  const std::string head =
      "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"
      "from triton.tools.tensor_descriptor import TensorDescriptor\n";
  const std::string source =
      head + kernels +
      "\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        out = torch.empty_like(x)\n" + body +
      "        return out\n";
  const Plan reference = Recorded(Reference());
  const Plan verified = Recorded({.source = source, .entry = "ModelNew", .reference = &reference});
  auto shipped = Ship(&Shared(), Reference(), reference, {.plan = &verified, .variant = variant}, {"Title."});
  if (auto* failure = std::get_if<EmitFailure>(&shipped)) return failure->reason;
  return std::get<std::string>(shipped);
}

void ExpectIn(const std::string& piece, const std::string& text) {
  EXPECT_NE(text.find(piece), std::string::npos) << piece << " is not in\n" << text;
}

TEST(Ship, DtypesTuplesAndFunctionsAsConstexprs) {
  const std::string text = Shipped(R"(
@triton.jit
def inner(v):
    return v * 2.0

@triton.jit
def twice(v):
    return inner(v)

@triton.jit
def kernel(x_ptr, out_ptr, n, B: tl.constexpr, DTYPE: tl.constexpr, DIMS: tl.constexpr, FN: tl.constexpr, WORD: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n).to(DTYPE)
    if WORD == "twice":
        x = FN(x) + (DIMS[0] - 3)
    tl.store(out_ptr + i, x, mask=i < n)

@triton.jit
def strided(p, strides, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + i * strides[1], tl.load(p + i * strides[1], mask=i < n), mask=i < n)
)",
                                   R"(
        grid = (triton.cdiv(x.numel(), 256),)
        kernel[grid](x, out, x.numel(), B=256, DTYPE=tl.float16, DIMS=(3,), FN=twice, WORD="twice", num_warps=8)
        strided[grid](out, (128, 1), x.numel(), B=256)
)");
  ExpectIn("DTYPE=tl.float16", text);
  ExpectIn("DIMS=(3,)", text);
  ExpectIn("FN=twice", text);
  ExpectIn("WORD=\"twice\"", text);
  ExpectIn("strides=(128, 1)", text);
  ExpectIn("def inner(v):", text);
}

TEST(Ship, HostDescriptors) {
  const std::string text = Shipped(R"(
@triton.jit
def kernel(x, out, R: tl.constexpr, C: tl.constexpr):
    at = [tl.program_id(0) * R, tl.program_id(1) * C]
    out.store(at, x.load(at) * 2.0)
)",
                                   R"(
        block = [16, 32]
        xd = TensorDescriptor(x, x.shape, x.stride(), block)
        kernel[(4, 4)](xd, TensorDescriptor(out, out.shape, out.stride(), block), R=16, C=32)
)");
  ExpectIn("x=TensorDescriptor(x0, [64, 128], [128, 1], [16, 32])", text);
}

TEST(Ship, TheVariantThatWasChosen) {
  const std::string kernels = R"(
@triton.autotune([triton.Config({"B": 128}), triton.Config({"B": 512}, num_warps=8)], key=["n"])
@triton.jit
def kernel(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)
)";
  const std::string body =
      "        kernel[lambda meta: (triton.cdiv(x.numel(), meta['B']),)](x, out, x.numel())\n";
  ExpectIn("_launch(kept, 0, kernel, (64, 1, 1), {}, x_ptr=x0, out_ptr=buffer0, n=8192, B=128)",
           Shipped(kernels, body));
  ExpectIn("kept, 0, kernel, (16, 1, 1), {\"num_warps\": 8},", Shipped(kernels, body, 1));
}

TEST(Ship, RefusesTextThatCanTellWhereItIs) {
  const std::string body = "        kernel[(8,)](x, out, x.numel())\n";
  const std::string kernel = R"(
@triton.jit
def kernel(x_ptr, out_ptr, n):
    i = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2.0, mask=i < n)
)";
  ExpectIn("_launch(kept, 0, kernel,",
           Shipped("WIDTH = tl.constexpr(triton.next_power_of_2(1000))\n" + kernel, body));
  ExpectIn("__import__ is not for kernels",
           Shipped("WIDTH = tl.constexpr(1024 if __import__('os').path.exists('/worker') else 1)\n" + kernel,
                   body));
}

TEST(Ship, RefusesWhatRecordsToAnotherPlan) {
  const Plan reference = Recorded(Reference());
  Plan other = reference;
  other.role = Role::kCandidate;
  other.generate.clear();
  EXPECT_TRUE(std::holds_alternative<std::string>(
      Ship(&Shared(), Reference(), reference, {.plan = &other}, {"Title."})));
  other.training = !other.training;  // no module can say this
  auto shipped = Ship(&Shared(), Reference(), reference, {.plan = &other}, {"Title."});
  ASSERT_TRUE(std::holds_alternative<EmitFailure>(shipped));
  ExpectIn("another Plan", std::get<EmitFailure>(shipped).reason);
}

// Its running statistics would stay what they were, and to make them takes the original's whole call.
TEST(Ship, RefusesABatchNormWhoseStatisticsNobodyMoves) {
  const auto with_norm = [](const std::string& name, const std::string& forward) {
    return "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"
           "@triton.jit\ndef copy(x, out, n, BLOCK: tl.constexpr):\n"
           "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
           "    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)\n"
           "class " +
           name +
           "(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
           "        self.bn = nn.BatchNorm1d(128)\n    def forward(self, x):\n" +
           forward +
           "def get_inputs():\n    return [torch.randn(64, 128)]\ndef get_init_inputs():\n    return []\n";
  };
  const RecordRequest request{.role = Role::kReference,
                              .source = with_norm("Model", "        return self.bn(x)\n"),
                              .entry = "Model"};
  const Plan reference = Recorded(request);
  const Plan verified = Recorded({.source = with_norm("ModelNew",
                                                      "        out = torch.empty_like(x)\n"
                                                      "        copy[(64,)](x, out, 8192, BLOCK=128)\n"
                                                      "        return out\n"),
                                  .entry = "ModelNew",
                                  .reference = &reference});
  auto shipped =
      Ship(&Shared(), request, reference,
           {.plan = &verified, .unchanged_state = {"bn.running_mean", "bn.running_var"}}, {"Title."});
  ASSERT_TRUE(std::holds_alternative<EmitFailure>(shipped));
  ExpectIn("'bn.", std::get<EmitFailure>(shipped).reason);
  ExpectIn("a norm makes them", std::get<EmitFailure>(shipped).reason);
}

}  // namespace
}  // namespace tritogen
