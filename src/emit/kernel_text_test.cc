#include "emit/kernel_text.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

constexpr const char* kHonest = R"(
import math
import triton
import triton.language as tl
from triton.language.extra import libdevice
try:
    from triton.language.extra.cuda import libdevice as fast
except ImportError:
    from triton.language.extra import libdevice as fast

LOG2E = tl.constexpr(math.log2(math.e))
BLOCK: tl.constexpr = triton.next_power_of_2(100)
NAME = tl.constexpr("os.system")


@triton.jit
def _online(m, l, x):
    """Not `__import__`, only a word."""
    new = tl.maximum(m, tl.max(x, axis=0))  # eval(…)
    return new, l * tl.math.exp2((m - new) * LOG2E) + tl.sum(fast.exp(x - new), axis=0)


@triton.jit(do_not_specialize=["n"])
def kernel(x_ptr, y_ptr, n, shape, TYPE: tl.constexpr = tl.float32, B: tl.constexpr = 64, type=1):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=float("-inf")).to(tl.float32)
    if TYPE.is_floating() and B >= 16:
        v = libdevice.tanh(v) if tl.constexpr(B) == 64 else tl.maximum(v.exp(), v, propagate_nan=tl.PropagateNan.ALL)
    tl.static_assert(B % 16 == 0, "blocks")
    tl.store(y_ptr + i, v.to(y_ptr.dtype.element_ty), mask=i < \
             n)
)";

TEST(KernelText, TritonsLanguageMayStandInAModule) {
  EXPECT_EQ(RefusalOfText(kHonest), "");
}

TEST(KernelText, NothingThatReachesBeyondIt) {
  for (const char* text : {
           "import os",
           "import triton, os",
           "from os import path",
           "from torch import hub",
           "from triton.language import core",
           "from triton.language import *",
           "from typing import get_type_hints",
           "from . import x",
           "x = 1; import os",
           "if True: import os",
           "B = tl.constexpr(64 if __import__('os').path.exists('/worker') else 0)",
           "B = eval('1')",
           "B = tl.constexpr(hash('x') % 2)",
           "B = open",
           "B = f\"{1}\"",
           "B = torch.hub.load('a', 'b')",
           "B = torch.cuda.get_device_name()",
           "B = triton.runtime.cache.os.getpid()",
           "B = tl.core.builtins",
           "B = tl.math.core",
           "B = tl",
           "language = tl; B = language.core",
           "B = ().__class__",
           "B = (1).__class__.__base__",
           "B = tl.softmax.get_capture_scope()",
           "B = tl.softmax.fn",
           "B = tl . \\\n core",
           "import triton.language as m\nB = m.target_info.current_target()",
           "@triton.constexpr_function\ndef f():\n    return 1",
           "@print\n@triton.jit\ndef k():\n    pass",
           "@triton.jit\ndef k(x, B=__import__('os')):\n    pass",
           "\xef\xbd\x8f\xef\xbd\x93 = 1",  // letters that Python reads as "os"
       }) {
    EXPECT_NE(RefusalOfText(text), "") << text;
  }
}

TEST(KernelText, NamesThatArePrintedAreNames) {
  Plan plan;
  plan.kernels = {
      {.name = "kernel", .ttir = "", .source = "@triton.jit\ndef kernel():\n    pass\n", .support = ""}};
  LaunchVariant variant{.kernel = 0, .call = {{"FN", {FunctionValue{"helper"}}}}};
  plan.run = {LaunchStep{.variants = {variant}}};
  EXPECT_EQ(RefusalOfKernels(plan), "");
  Plan named = plan;
  named.kernels[0].name = "eval('1') or kernel";
  EXPECT_NE(RefusalOfKernels(named), "");
  Plan keyed = plan;
  std::get<LaunchStep>(keyed.run[0]).variants[0].call[0].first = "x=eval('1'), y";
  EXPECT_NE(RefusalOfKernels(keyed), "");
  for (const Value& hostile : {Value{FunctionValue{"eval('1')"}}, Value{LayoutValue{"strided or eval('1')"}},
                               Value{MemoryFormatValue{"channels_last or eval('1')"}}}) {
    Plan passed = plan;
    std::get<LaunchStep>(passed.run[0]).variants[0].call[0].second = {Value::List{hostile}};
    EXPECT_NE(RefusalOfKernels(passed), "");
  }
}

TEST(KernelText, AnOriginalsNamesStayItsOwn) {
  const char* original =
      "import torch\nSCALE = 2.0\ndef norm(x):\n    return x * SCALE\nclass Model:\n    pass\n";
  EXPECT_EQ(ClashOf(original, kHonest), "");
  EXPECT_EQ(ClashOf(original, "import torch\nSCALE = 2.0\n"), "");
  EXPECT_EQ(ClashOf(original, "SCALE = tl.constexpr(3.0)\n"), "SCALE");
  EXPECT_EQ(ClashOf(original, "@triton.jit\ndef norm(x):\n    return x\n"), "norm");
}

}  // namespace
}  // namespace tritogen
