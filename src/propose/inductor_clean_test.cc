#include "propose/inductor_clean.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"

namespace tritogen {
namespace {

std::string Golden(const std::string& name) {
  return ReadFile(std::string(TRITOGEN_SOURCE_DIR) + "/tests/golden/inductor/" + name + ".txt");
}

CleanedInductor Cleaned(const std::string& name, std::vector<std::string> parameters,
                        std::string structure = "*") {
  auto result =
      CleanInductor(Golden(name), {.parameters = std::move(parameters), .structure = std::move(structure)});
  if (auto* reason = std::get_if<std::string>(&result)) {
    ADD_FAILURE() << name << ": " << *reason;
    return {};
  }
  return std::get<CleanedInductor>(result);
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(InductorClean, NothingOfInductorIsLeft) {
  for (const auto& cleaned : {Cleaned("relu", {"x"}), Cleaned("product_sum", {"x", "y"}),
                              Cleaned("linear_gelu_softmax", {"x", "w"}),
                              Cleaned("two_outputs", {"x", "y"}, "(*, *)"), Cleaned("cumsum", {"x"})}) {
    for (const char* part :
         {"inductor", "triton_helpers", "tl_math", "heuristics", "async_compile", "eviction_policy", "numel",
          "XBLOCK", "in_ptr", "out_ptr", "tmp", "assert", ".run(", "stream", "arg0"})
      EXPECT_FALSE(Has(cleaned.code, part)) << part << " in\n" << cleaned.code;
    EXPECT_EQ(cleaned.kernels, 1);
    EXPECT_TRUE(Has(cleaned.code, "@triton.jit\ndef fused_kernel(")) << cleaned.code;
    EXPECT_TRUE(Has(cleaned.code, "# What it writes."));
  }
}

TEST(InductorClean, APointwiseKernelAndItsLaunch) {
  const CleanedInductor cleaned = Cleaned("relu", {"x"});
  EXPECT_TRUE(Has(cleaned.code, "def fused_kernel(x_ptr, buf0_ptr, BLOCK_X: tl.constexpr):")) << cleaned.code;
  EXPECT_TRUE(Has(cleaned.code, "fused_kernel[(4,)](x, buf0, BLOCK_X=512)")) << cleaned.code;
  EXPECT_TRUE(Has(cleaned.code, "def maximum(a, b):")) << "the helper comes along";
  EXPECT_EQ(cleaned.library_calls, 0);
}

TEST(InductorClean, LibraryCallsAreCountedAndTwoResultsKeepTheirStructure) {
  EXPECT_EQ(Cleaned("linear_gelu_softmax", {"x", "w"}).library_calls, 1);
  EXPECT_TRUE(
      Has(Cleaned("linear_gelu_softmax", {"x", "w"}).code, "buf0 = torch.mm(x, torch.as_strided(w, "));
  EXPECT_TRUE(Has(Cleaned("two_outputs", {"x", "y"}, "(*, *)").code, "return (buf0, buf1)"));
}

TEST(InductorClean, WhatHasNoPlainFormIsNamed) {
  auto reason = [](std::string_view source, std::vector<std::string> parameters = {"x"}) {
    const auto result = CleanInductor(source, {.parameters = std::move(parameters)});
    return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : "cleaned";
  };
  EXPECT_EQ(reason(Golden("argmax")), "triton_helpers.max_with_index");
  EXPECT_EQ(reason(""), "no call() function");
  EXPECT_EQ(reason(Golden("relu"), {"x", "y"}), "another number of inputs");
  std::string grid = Golden("relu");
  grid.replace(grid.find("'Grid1D'"), 8, "'SplitScan'");
  EXPECT_EQ(reason(grid), "a grid SplitScan");
  // Cut anywhere, it is a reason or a file, never a crash.
  const std::string whole = Golden("two_outputs");
  for (size_t length = 0; length < whole.size(); length += 37) reason(whole.substr(0, length), {"x", "y"});
}

}  // namespace
}  // namespace tritogen
