// How answers and their plans are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <regex>
#include <set>

#include "teach/style.h"
#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

TEST(Teach, MasksOnlyWhereNeeded) {
  for (int64_t n : {1024, 1000}) {
    Maker m;
    NodeId x = m.Leaf(NodeKind::kInput, "x", {n});
    auto answers = TeachFunction(m.Finish(m.Op("aten::relu", {Ref(x)}, {n})));
    ASSERT_FALSE(answers.empty());
    EXPECT_EQ(answers[0].source.find("mask=") != std::string::npos, n == 1000) << answers[0].source;
  }
}

TEST(Teach, NothingIsCalledLikeWhatTheReferenceDefines) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {64});
  const Program program = m.Finish(m.Op("aten::relu", {Ref(x)}, {64}));
  Request request{.program = &program, .entry = "Model", .count = 1};
  std::set<std::string> defined;
  const std::regex definition("\ndef (\\w+)\\(");
  const auto note = [&](const std::string& source) {
    for (std::sregex_iterator at(source.begin(), source.end(), definition), end; at != end; ++at)
      defined.insert((*at)[1]);
  };
  for (uint64_t seed = 0; seed < 40; ++seed) {
    request.seed = seed;
    note(Teach(request).at(0).source);
  }
  ASSERT_GT(defined.size(), 4u) << "styles differ in names";
  for (const std::string& name : defined) request.reference_source += "\ndef " + name + "(): pass\n";
  for (request.seed = 0; request.seed < 40; ++request.seed) {
    const std::string source = Teach(request).at(0).source;
    for (const std::string& name : defined) {
      const std::string text = "\ndef " + name + "(";
      EXPECT_EQ(source.find(text), source.rfind(text)) << name << '\n' << source;
    }
  }
}

TEST(Teach, DimensionsOfOneElementLeaveNoTrace) {
  // Pooling two rows to one; a product's result as it is returned.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {256, 2, 3});
  Arg size{Arg::List{Arg{int64_t{1}}, Arg{int64_t{3}}}};
  auto pooled = TeachFunction(m.Finish(m.Op("aten::adaptive_avg_pool2d", {Ref(x), size}, {256, 1, 3})));
  Maker v;
  NodeId a = v.Leaf(NodeKind::kInput, "a", {100, 2, 56}), b = v.Leaf(NodeKind::kInput, "b", {56});
  auto product = TeachFunction(v.Finish(v.Op("aten::matmul", {Ref(a), Ref(b)}, {100, 2})), true);
  ASSERT_TRUE(!pooled.empty() && !product.empty());
  for (const Answer& answer : {pooled[0], product[0]}) {
    for (const char* trace : {"tl.full([]", " * 1", "// 1)", ".view("})
      EXPECT_EQ(answer.source.find(trace), std::string::npos) << trace << '\n' << answer.source;
  }
}

TEST(Teach, WhatTheProgramDoesNotSayIsWrittenAsAProduct) {
  // The product sums over channels and window, in another order than the weight has them.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1, 7, 8, 24}), w = m.Leaf(NodeKind::kInput, "w", {7, 17, 3, 4});
  const auto list = [](int64_t a, int64_t b) { return Arg{Arg::List{Arg{a}, Arg{b}}}; };
  const auto answers = TeachFunction(m.Finish(
      m.Op("aten::conv_transpose2d",
           {Ref(x), Ref(w), Arg{}, list(1, 1), list(0, 0), list(0, 0), Arg{int64_t{1}}}, {1, 17, 10, 27})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("N=10 * 27, K=7 * 3 * 4,"), std::string::npos) << answers[0].source;
}

// Numbers of an answer that are neither powers of two nor stand in the program.
std::set<std::string> ForeignNumbers(const std::string& source, const std::set<std::string>& known) {
  std::set<std::string> foreign;
  const std::regex number("[^\\w.-]([0-9]+)(?![\\w.])");
  for (std::sregex_iterator at(source.begin(), source.end(), number), end; at != end; ++at) {
    const std::string text = (*at)[1];
    const uint64_t value = std::stoull(text);
    if (known.count(text) == 0 && value != 0 && !std::has_single_bit(value)) foreign.insert(text);
  }
  return foreign;
}

std::vector<Answer> ToLearnFrom(const Program& program) {
  Request request;
  request.program = &program;
  request.is_function = request.strict = request.simple = true;
  request.count = 5;
  return Teach(request);
}

// Who learns from answers does not divide in its head: dimensions are neither cut nor joined to one.
TEST(Teach, AnswersToLearnFromHaveNumbersOfTheProgram) {
  const std::vector<int64_t> sizes{128, 60, 258, 258};
  Maker norm;
  const NodeId x = norm.Leaf(NodeKind::kInput, "x", sizes);
  const auto of_norm = ToLearnFrom(norm.Finish(
      norm.Op("aten::group_norm", {Ref(x), Arg{int64_t{6}}, Arg{}, Arg{}, Arg{1e-5}, Arg{true}}, sizes)));
  ASSERT_GE(of_norm.size(), 2u);
  for (const Answer& answer : of_norm) {
    EXPECT_NE(answer.source.find("N_COLS=10 * 258 * 258"), std::string::npos) << answer.source;
    EXPECT_EQ(ForeignNumbers(answer.source, {"128", "60", "258", "6", "10"}), std::set<std::string>{});
  }

  Maker scan;
  const NodeId z = scan.Leaf(NodeKind::kInput, "z", {15900, 3});
  const auto of_scan =
      ToLearnFrom(scan.Finish(scan.Op("aten::cumsum", {Ref(z), Arg{int64_t{0}}}, {15900, 3})));
  ASSERT_FALSE(of_scan.empty());
  for (const Answer& answer : of_scan)
    EXPECT_EQ(ForeignNumbers(answer.source, {"15900", "3"}), std::set<std::string>{}) << answer.source;

  Maker sum;
  const NodeId y = sum.Leaf(NodeKind::kInput, "y", sizes);
  const auto of_sum = ToLearnFrom(sum.Finish(sum.Op("aten::sum", {Ref(y)}, {})));
  ASSERT_FALSE(of_sum.empty());
  const std::string persistent = "528";  // programs of any kernel that takes tiles in turns
  for (const Answer& answer : of_sum) {
    EXPECT_EQ(ForeignNumbers(answer.source, {"128", "60", "258", persistent}), std::set<std::string>{})
        << answer.source;
    EXPECT_EQ(answer.source.find("N_COLS=128 * 60 * 258 * 258"), std::string::npos)
        << "many programs take part\n"
        << answer.source;
  }
}

TEST(Teach, LargeTensorsUse64BitOffsets) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1 << 16, 1 << 16});
  auto answers = TeachFunction(m.Finish(m.Op("aten::relu", {Ref(x)}, {1 << 16, 1 << 16})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("tl.int64"), std::string::npos);
}

TEST(Teach, ElementsThatAreOnlyComputedNeedNo64BitOffsets) {
  // 2^28 results, each of a window of 8.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1, 64, 1 << 22});
  const auto one = [](int64_t a) { return Arg{Arg::List{Arg{a}}}; };
  auto answers = TeachFunction(m.Finish(
      m.Op("aten::max_pool1d", {Ref(x), one(9), one(1), one(4), one(1), Arg{false}}, {1, 64, 1 << 22})));
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].source.find("tl.int64"), std::string::npos) << answers[0].source;
}

TEST(Teach, ConvolutionsOfFewChannelsAreOuterProducts) {
  const auto answers = [](int64_t in, int64_t out, std::vector<int64_t> stride) {
    Maker m;
    NodeId x = m.Leaf(NodeKind::kInput, "x", {16, in, 160, 164}),
           w = m.Leaf(NodeKind::kInput, "w", {out, in, 3, 5});
    const int64_t height = 157 / stride[0] + 1;
    const auto list = [](int64_t a, int64_t b) { return Arg{Arg::List{Arg{a}, Arg{b}}}; };
    return TeachFunction(m.Finish(m.Op("aten::conv2d", {Ref(x), Ref(w), Arg{}, list(stride[0], stride[1])},
                                       {16, out, height, 160})),
                         true);
  };
  const auto few = answers(8, 24, {1, 1});
  const std::string& text = few.at(0).source;
  EXPECT_EQ(text.find("tl.dot"), std::string::npos) << text;
  EXPECT_NE(text.find("for step in range(0, K // BLOCK_K)"), std::string::npos) << text;
  EXPECT_NE(text.find("for tap in tl.static_range(BLOCK_K)"), std::string::npos) << text;
  EXPECT_NE(text.find("BLOCK_K=15"), std::string::npos) << text;
  EXPECT_NE(text.find("K=8 * 3 * 5"), std::string::npos) << text;
  const auto dots = std::ranges::find(few, "convolutions by dots", &Answer::strategy);
  ASSERT_NE(dots, few.end());
  EXPECT_NE(dots->source.find("tl.dot"), std::string::npos);
  for (const auto& many : {answers(32, 24, {1, 1}), answers(8, 160, {1, 1})})
    EXPECT_NE(many.at(0).source.find("tl.dot"), std::string::npos) << many.at(0).source;
  EXPECT_EQ(answers(8, 24, {2, 1}).at(0).source.find("tl.dot"), std::string::npos);
}

TEST(Teach, StyleFollowsTheSeedAndStrategiesDoNot) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512});
  Program program = m.Finish(m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {64, 512}));
  auto answers = [&](uint64_t seed) {
    Request request{.program = &program, .entry = "f", .is_function = true, .strict = true, .count = 16};
    request.seed = seed;
    return Teach(request);
  };
  auto plain = answers(0), one = answers(7), again = answers(7), other = answers(8);
  ASSERT_EQ(plain.size(), one.size());
  int unlike = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].source, again[i].source);
    EXPECT_EQ(one[i].plan, again[i].plan);
    EXPECT_EQ(one[i].strategy, plain[i].strategy);
    unlike += one[i].source != other[i].source;
  }
  EXPECT_GT(unlike, 0);
}

TEST(Teach, PlansHaveFourSteps) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512});
  for (const Answer& answer : TeachFunction(m.Finish(m.Op("aten::relu", {Ref(x)}, {64, 512})))) {
    for (const char* step : {"1. ", "2. ", "3. ", "4. "})
      EXPECT_NE(answer.plan.find(step), std::string::npos);
  }
}

TEST(Teach, PlansGoThroughTheProgramLineByLineOnRequest) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512}), w = m.Leaf(NodeKind::kParameter, "w", {512, 64});
  NodeId h = m.Op("aten::relu", {Ref(x)}, {64, 512});
  h = m.Op("aten::mm", {Ref(h), Ref(w)}, {64, 64});
  h = m.Op("aten::t", {Ref(h)}, {64, 64});
  const Program program = m.Finish(m.Op("aten::neg", {Ref(h)}, {64, 64}));
  Request request{.program = &program, .entry = "f", .is_function = true, .strict = true};
  EXPECT_TRUE(Teach(request).at(0).plan.starts_with("1. Access pattern:"));
  request.lines = true;
  std::map<std::string, std::string> plans;
  for (const Answer& answer : Teach(request)) plans[answer.strategy] = answer.plan;
  const auto lines = [&](const char* strategy) {
    const std::string& plan = plans[strategy];
    return plan.substr(0, plan.find("1. "));
  };
  EXPECT_EQ(lines("a kernel for each operation"),
            "0. Lines:\n   - x: input\n   - w: parameter\n   - relu: relu_kernel\n   - mm: matmul_kernel\n"
            "   - t: a view\n   - neg: neg_kernel\n");
  EXPECT_EQ(lines("fused"),
            "0. Lines:\n   - x: input\n   - w: parameter\n   - relu: matmul_neg_kernel\n"
            "   - mm: matmul_neg_kernel\n   - t: a view\n   - neg: matmul_neg_kernel\n");
}

TEST(Teach, DivisorsAreWrittenAsTheSizesTheyAreMadeOf) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {6, 20, 12});
  const Arg dims{Arg::List{Arg{int64_t{1}}, Arg{int64_t{2}}}};
  Program program = m.Finish(m.Op("aten::var.correction", {Ref(x), dims}, {6}));
  program.nodes.back().kwargs = {{"correction", Arg{int64_t{1}}}};
  const std::string source = TeachFunction(program).at(0).source;
  EXPECT_NE(source.find(", 20 * 12)\n"), std::string::npos) << source;
  EXPECT_NE(source.find(", 20 * 12 - 1)\n"), std::string::npos) << source;
}

TEST(Teach, MeansAreRoundedAsIeeeSays) {
  const auto mean = [](int64_t columns, Dtype dtype) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {4096, columns}, dtype);
    return TeachFunction(
               m.Finish(m.Op("aten::mean.dim", {Ref(x), Arg{Arg::List{Arg{int64_t{1}}}}}, {4096}, dtype)))
        .at(0)
        .source;
  };
  EXPECT_TRUE(Says(mean(24, Dtype::kFloat32), "tl.div_rn(total, 24.0)")) << mean(24, Dtype::kFloat32);
  EXPECT_TRUE(Says(mean(32, Dtype::kFloat32), "total / 32.0")) << "a power of two";
  EXPECT_TRUE(Says(mean(24, Dtype::kFloat64), "total / 24.0")) << "always so";
}

TEST(Teach, QuotientsThatAreRoundedToStepsAreRoundedAsIeeeSaysBefore) {
  const auto source = [](const char* then, Dtype dtype) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 256}, dtype);
    const NodeId most =
        m.Op("aten::amax", {Ref(x), Arg{Arg::List{Arg{int64_t{1}}}}, Arg{true}}, {64, 1}, dtype);
    const NodeId step = m.Op("aten::div.Tensor", {Ref(most), Arg{127.0}}, {64, 1}, dtype);
    const NodeId places = m.Op("aten::div.Tensor", {Ref(x), Ref(step)}, {64, 256}, dtype);
    return TeachFunction(m.Finish(m.Op(then, {Ref(places)}, {64, 256}, dtype))).at(0).source;
  };
  const std::string rounded = source("aten::round", Dtype::kFloat32);
  EXPECT_TRUE(Says(rounded, "tl.div_rn(amax, 127.0)")) << rounded;
  EXPECT_TRUE(Says(rounded, "tl.div_rn(x, div)")) << rounded;
  EXPECT_FALSE(Says(source("aten::tanh", Dtype::kFloat32), "div_rn"));
  EXPECT_FALSE(Says(source("aten::round", Dtype::kFloat64), "div_rn"));
}

TEST(Teach, EqualKernelsAreWrittenOnce) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {16, 16}), w = m.Leaf(NodeKind::kParameter, "w", {16, 16});
  NodeId h = x;
  for (int i = 0; i < 4; ++i) h = m.Op("aten::mm", {Ref(h), Ref(w)}, {16, 16});
  auto answers = TeachFunction(m.Finish(h));
  ASSERT_FALSE(answers.empty());
  const std::string& source = answers[0].source;
  EXPECT_EQ(source.find("@triton.jit"), source.rfind("@triton.jit")) << source;
}

TEST(Style, KeywordsAndProseKeepTheirWords) {
  Style style;
  style.names = {{"mask", "valid"}, {"rows", "row_ids"}, {"BLOCK", "TILE"}};
  const std::string source =
      "def k(x_ptr, BLOCK: tl.constexpr):\n    # BLOCK rows of x.\n    rows = tl.arange(0, BLOCK)\n    mask "
      "= rows < 3\n"
      "    tl.store(x_ptr + rows, 0, mask=mask)\n";
  EXPECT_EQ(style.Written(source, ""),
            "def k(x_ptr, TILE: tl.constexpr):\n    # TILE rows of x.\n    row_ids = tl.arange(0, TILE)\n    "
            "valid = "
            "row_ids < 3\n    tl.store(x_ptr + row_ids, 0, mask=valid)\n");
  EXPECT_EQ(style.Constants("BLOCK=8", source), "TILE=8");
}

TEST(Teach, AnswersDifferAndAreReproducible) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512});
  Program program = m.Finish(m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {64, 512}));
  auto first = TeachFunction(program), second = TeachFunction(program);
  ASSERT_GE(first.size(), 3u);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].source, second[i].source);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(first[i].source, first[j].source);
  }
}

TEST(Teach, NoTensorIsCalledAsAModuleOfTheReferencesFile) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8}), f = m.Leaf(NodeKind::kParameter, "F", {8});
  const std::string source =
      TeachFunction(m.Finish(m.Op("aten::mul.Tensor", {Ref(x), Ref(f)}, {8})))[0].source;
  EXPECT_FALSE(Says(source, " F = ")) << source;
}

}  // namespace
}  // namespace tritogen::teach
