// Which programs' attention becomes one kernel, and what that kernel leaves out. Whether it is right is
// checked by running it: tests/teacher.
#include "teach/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// softmax(q·kᵀ / 8)·v by hand, on (heads, queries, width) and (heads, keys, width).
struct ByHand : Maker {
  ByHand(int64_t heads, int64_t queries, int64_t keys, int64_t width)
      : heads(heads), queries(queries), keys(keys), width(width) {
    q = Leaf(NodeKind::kInput, "q", {heads, queries, width});
    k = Leaf(NodeKind::kInput, "k", {heads, keys, width});
    v = Leaf(NodeKind::kInput, "v", {heads, keys, width});
    const NodeId turned =
        Op("aten::transpose.int", {Ref(k), Arg{int64_t{1}}, Arg{int64_t{2}}}, {heads, width, keys});
    scores = Op("aten::bmm", {Ref(q), Ref(turned)}, {heads, queries, keys});
    scores = Op("aten::div.Tensor", {Ref(scores), Arg{8.0}}, {heads, queries, keys});
  }
  // `mask` is where a score becomes -inf.
  void Mask(NodeId mask) {
    scores =
        Op("aten::masked_fill.Scalar",
           {Ref(scores), Ref(mask), Arg{-std::numeric_limits<double>::infinity()}}, {heads, queries, keys});
  }
  NodeId Triangle(int64_t diagonal) {
    const NodeId ones = Op("aten::ones", {Arg{Arg::List{Arg{queries}, Arg{keys}}}}, {queries, keys});
    const NodeId lower = Op("aten::tril", {Ref(ones), Arg{diagonal}}, {queries, keys});
    return Op("aten::eq.Scalar", {Ref(lower), Arg{int64_t{0}}}, {queries, keys}, Dtype::kBool);
  }
  NodeId Weights() {
    return Op("aten::_softmax", {Ref(scores), Arg{int64_t{-1}}, Arg{false}}, {heads, queries, keys});
  }
  Program Attended(NodeId weights) {
    return Finish(Op("aten::bmm", {Ref(weights), Ref(v)}, {heads, queries, width}));
  }
  std::vector<Answer> Answers() { return TeachFunction(Attended(Weights()), true); }

  int64_t heads, queries, keys, width;
  NodeId q, k, v, scores;
};

bool IsOneKernel(const Answer& answer) {
  return CountOf(answer.source, "@triton.jit") == 1 && CountOf(answer.source, "tl.exp2(") == 2 &&
         CountOf(answer.source, "torch.empty(") == 1;
}

TEST(Attention, WrittenByHandIsOneKernelFirstAndThreeInAnotherAnswer) {
  const auto answers = ByHand(4, 50, 70, 32).Answers();
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(IsOneKernel(answers[0])) << answers[0].source;
  // The scale waits for the softmax.
  EXPECT_EQ(CountOf(answers[0].source, "(1.4426950408889634 / 8.0)"), 2) << answers[0].source;
  for (const char* name : {"attention in three kernels", "a kernel for each operation"}) {
    const auto found =
        std::find_if(answers.begin(), answers.end(), [&](const Answer& a) { return a.strategy == name; });
    ASSERT_NE(found, answers.end()) << name;
    EXPECT_EQ(CountOf(found->source, "tl.exp2("), 0);
    EXPECT_GE(CountOf(found->source, "@triton.jit"), 3) << found->source;
  }
}

TEST(Attention, ACallIsTheSame) {
  Maker m;
  std::vector<Arg> leaves;
  for (const char* name : {"q", "k", "v"})
    leaves.push_back(Ref(m.Leaf(NodeKind::kInput, name, {2, 3, 40, 64}, Dtype::kFloat16)));
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::scaled_dot_product_attention", leaves, {2, 3, 40, 64}, Dtype::kFloat16)), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(IsOneKernel(answers[0])) << answers[0].source;
  EXPECT_NE(answers[0].source.find("tl.dot(weights.to(tl.float16), v, acc)"), std::string::npos);
  EXPECT_EQ(answers[0].source.find("total[:, None] == 0.0"), std::string::npos);  // no mask, no empty row
}

TEST(Attention, OneQueryIsEnough) {
  const auto answers = ByHand(4, 1, 70, 32).Answers();
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(IsOneKernel(answers[0])) << answers[0].source;
}

TEST(Attention, OtherProductsOfOneRowAreReductions) {
  ByHand attention(4, 1, 70, 32);
  const NodeId result = attention.Op("aten::bmm", {Ref(attention.Weights()), Ref(attention.v)}, {4, 1, 32});
  const NodeId weight = attention.Leaf(NodeKind::kParameter, "w", {4, 32, 24});
  const auto answers = TeachFunction(
      attention.Finish(attention.Op("aten::bmm", {Ref(result), Ref(weight)}, {4, 1, 24})), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(CountOf(answers[0].source, "tl.dot("), 2) << answers[0].source;
}

// Of 8 heads, four to each of keys and values.
std::string GroupedQueries(int64_t queries) {
  Maker m;
  const NodeId q = m.Leaf(NodeKind::kInput, "q", {3, 8, queries, 64}, Dtype::kFloat16),
               k = m.Leaf(NodeKind::kInput, "k", {3, 2, 300, 64}, Dtype::kFloat16);
  const std::vector<Arg> arguments = {Ref(q), Ref(k), Ref(k)};
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::scaled_dot_product_attention", arguments, {3, 8, queries, 64}, Dtype::kFloat16)),
      true);
  return answers.empty() ? "" : answers[0].source;
}

TEST(Attention, FewQueriesOfHeadsThatShareKeysAreRowsOfOneTile) {
  EXPECT_NE(GroupedQueries(1).find("(3 * 2 * triton.cdiv(4, 16),)"), std::string::npos) << GroupedQueries(1);
  EXPECT_NE(GroupedQueries(3).find("(3 * 2 * triton.cdiv(4 * 3, 16),)"), std::string::npos)
      << GroupedQueries(3);
  EXPECT_NE(GroupedQueries(50).find("(3 * 2 * 4 * triton.cdiv(50, 64),)"), std::string::npos)
      << GroupedQueries(50);
}

TEST(Attention, KeysOfFewQueriesAreCutIntoPiecesThatOneKernelJoins) {
  const auto answers = ByHand(32, 1, 8192, 32).Answers();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(CountOf(answers[0].source, "@triton.jit"), 2) << answers[0].source;
  EXPECT_NE(answers[0].source.find("PIECES=8, KEYS=1024"), std::string::npos) << answers[0].source;
  const auto whole = std::find_if(answers.begin(), answers.end(),
                                  [](const Answer& a) { return a.strategy == "one stage reductions"; });
  ASSERT_NE(whole, answers.end());
  EXPECT_TRUE(IsOneKernel(*whole)) << whole->source;
}

TEST(Attention, OnlyFewProgramsWithManyKeysAreCut) {
  const auto pieces = [](int64_t heads, int64_t queries, int64_t keys) {
    return CountOf(ByHand(heads, queries, keys, 32).Answers().at(0).source, "PIECES=");
  };
  EXPECT_EQ(pieces(4, 20, 2000), 1);
  EXPECT_EQ(pieces(300, 1, 2000), 0);  // heads enough
  EXPECT_EQ(pieces(2, 1, 600), 0);     // too little to share
  EXPECT_EQ(pieces(2, 500, 2000), 0);  // too much to join
}

TEST(Attention, KeysThatATriangleHidesAreNotVisited) {
  const auto source = [](int64_t diagonal) {
    ByHand attention(2, 300, 300, 32);
    attention.Mask(attention.Triangle(diagonal));
    return attention.Answers().at(0).source;
  };
  EXPECT_NE(source(0).find("end = min((pid_m + 1) * BLOCK_M, N)"), std::string::npos) << source(0);
  EXPECT_NE(source(-7).find("end = min((pid_m + 1) * BLOCK_M - 7, N)"), std::string::npos) << source(-7);
  EXPECT_EQ(source(300).find("end = "), std::string::npos) << source(300);  // hides nothing
}

TEST(Attention, UnderATriangleProgramsWithMostWorkBeginFirst) {
  const auto turns = [](int64_t heads, int64_t queries, int64_t keys, int64_t diagonal) {
    ByHand attention(heads, queries, keys, 64);
    attention.Mask(attention.Triangle(diagonal));
    const std::string source = attention.Answers().at(0).source;
    const size_t at = source.find("TURNS=");
    return at == std::string::npos ? 1 : std::stoi(source.substr(at + 6));
  };
  EXPECT_EQ(turns(12, 300, 300, 0), 12);
  EXPECT_EQ(turns(12, 300, 300, 300), 1);   // no mask
  EXPECT_EQ(turns(12, 10, 300, 0), 1);      // one block of queries
  EXPECT_EQ(turns(48, 2048, 2048, 0), 24);  // more do not fit into the cache
}

TEST(Attention, BlocksBeforeTheTriangleAreWalkedWithoutIt) {
  Maker m;
  std::vector<Arg> arguments;
  for (const char* name : {"q", "k", "v"})
    arguments.push_back(Ref(m.Leaf(NodeKind::kInput, name, {2, 3, 300, 64}, Dtype::kFloat16)));
  arguments.insert(arguments.end(), {Arg{}, Arg{0.0}, Arg{true}});
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::scaled_dot_product_attention", arguments, {2, 3, 300, 64}, Dtype::kFloat16)),
      true);
  ASSERT_FALSE(answers.empty());
  const std::string& source = answers[0].source;
  const size_t border = source.find("range(0, border, BLOCK_N)"),
               rest = source.find("range(border, end, BLOCK_N)");
  ASSERT_LT(border, rest) << source;
  EXPECT_EQ(source.substr(border, rest - border).find("<= offs_m"), std::string::npos) << source;
  EXPECT_NE(source.find("<= offs_m", rest), std::string::npos) << source;
}

TEST(Attention, AMaskInMemoryIsLoaded) {
  ByHand attention(2, 300, 300, 32);
  attention.Mask(attention.Leaf(NodeKind::kInput, "mask", {300, 300}, Dtype::kBool));
  const auto answers = attention.Answers();
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(IsOneKernel(answers[0])) << answers[0].source;
  EXPECT_NE(answers[0].source.find("tl.load(mask_ptr + offs_m * 300 + offs_n[None, :]"), std::string::npos)
      << answers[0].source;
  EXPECT_EQ(answers[0].source.find("end = "), std::string::npos);
}

TEST(Attention, WeightsThatSomebodyElseReadsAreStored) {
  ByHand attention(2, 40, 40, 32);
  const NodeId weights = attention.Weights();
  Program program = attention.Attended(weights);
  program.outputs.push_back({weights});
  program.structure = "(*,*)";
  for (const Answer& answer : TeachFunction(program, true)) EXPECT_EQ(CountOf(answer.source, "tl.exp2("), 0);
}

TEST(Attention, HeadsTooLargeForRegistersAreLeftToThreeKernels) {
  EXPECT_TRUE(IsOneKernel(ByHand(2, 40, 40, 128).Answers().at(0)));
  EXPECT_FALSE(IsOneKernel(ByHand(2, 40, 40, 160).Answers().at(0)));
}

TEST(Attention, LargeOnesOfFloat32AreMadeOfBfloat16Parts) {
  const auto answers = ByHand(16, 512, 512, 64).Answers();
  ASSERT_GE(answers.size(), 2u);
  EXPECT_EQ(answers[0].strategy, "products of bfloat16 parts");
  EXPECT_TRUE(IsOneKernel(answers[0])) << answers[0].source;
  EXPECT_EQ(CountOf(answers[0].source, "tl.dot("), 12) << answers[0].source;
  EXPECT_EQ(CountOf(answers[1].source, "tl.dot("), 2) << answers[1].source;
}

// Three parts of 128 queries and 64 keys of 128 numbers leave 80 KiB for the next step, of 64 with keys and
// values, and no room for a mask of float32.
// Triton 3.6 reads beyond its shared memory otherwise.
TEST(Attention, PartsOfHeadsOf128HaveValuesOf64AtLeast) {
  Maker m;
  const NodeId q = m.Leaf(NodeKind::kInput, "q", {8, 1024, 100}),
               k = m.Leaf(NodeKind::kInput, "k", {8, 1024, 100}),
               v = m.Leaf(NodeKind::kInput, "v", {8, 1024, 8});
  const Answer first =
      TeachFunction(
          m.Finish(m.Op("aten::scaled_dot_product_attention", {Ref(q), Ref(k), Ref(v)}, {8, 1024, 8})), true)
          .at(0);
  EXPECT_EQ(first.strategy, "products of bfloat16 parts");
  EXPECT_TRUE(Says(first.source, "BLOCK_K=128, BLOCK_D=64")) << first.source;
}

TEST(Attention, PartsAndTheNextStepFitIntoSharedMemory) {
  const auto keys_at_once = [](std::optional<Dtype> mask) {
    ByHand attention(64, 512, 512, 128);
    if (mask) {
      NodeId x = attention.Leaf(NodeKind::kInput, "mask", {512, 512}, *mask);
      if (*mask != Dtype::kBool)
        x = attention.Op("aten::eq.Scalar", {Ref(x), Arg{int64_t{0}}}, {512, 512}, Dtype::kBool);
      attention.Mask(x);
    }
    const std::string source = attention.Answers().at(0).source;
    return source.substr(source.find("BLOCK_M=128, BLOCK_N="), 23);
  };
  EXPECT_EQ(keys_at_once({}), "BLOCK_M=128, BLOCK_N=64");
  EXPECT_EQ(keys_at_once(Dtype::kBool), "BLOCK_M=128, BLOCK_N=64");
  EXPECT_EQ(keys_at_once(Dtype::kFloat32), "BLOCK_M=128, BLOCK_N=32");
}

TEST(Attention, KeysBeforeAWindowAreNotVisited) {
  ByHand attention(3, 300, 300, 32);
  const NodeId index = attention.Op("aten::arange", {Arg{int64_t{300}}}, {300}, Dtype::kInt64);
  const NodeId row = attention.Op("aten::unsqueeze", {Ref(index), Arg{int64_t{1}}}, {300, 1}, Dtype::kInt64);
  const NodeId distance = attention.Op("aten::sub.Tensor", {Ref(row), Ref(index)}, {300, 300}, Dtype::kInt64);
  const NodeId size = attention.Op("aten::abs", {Ref(distance)}, {300, 300}, Dtype::kInt64);
  attention.Mask(attention.Op("aten::gt.Scalar", {Ref(size), Arg{int64_t{20}}}, {300, 300}, Dtype::kBool));
  const std::string source = attention.Answers().at(0).source;
  EXPECT_NE(source.find("begin = max(0, (pid_m * BLOCK_M - 20) // BLOCK_N * BLOCK_N)"), std::string::npos)
      << source;
  EXPECT_NE(source.find("end = min((pid_m + 1) * BLOCK_M + 20, N)"), std::string::npos) << source;
  EXPECT_NE(source.find("range(begin, end, BLOCK_N)"), std::string::npos) << source;
}

// Keys up to `ahead` further on than the query: what comparisons of indices say in several ways.
TEST(Attention, LimitsAreReadFromComparisons) {
  Graph graph;
  const std::vector<int64_t> sizes = {8, 8};
  const auto add = [&](std::string expr, std::vector<View> operands, Dtype dtype) {
    Prim prim;
    prim.expr = std::move(expr);
    prim.sizes = sizes;
    prim.operands = std::move(operands);
    prim.compute.assign(prim.operands.size(), dtype);
    return graph.Whole(graph.Add(std::move(prim)));
  };
  const View query{kElementNumber, 0, sizes, {1, 0}, {}}, key{kElementNumber, 0, sizes, {0, 1}, {}};
  const View score = add("{0} * 1.5", {query}, Dtype::kFloat32);
  const auto limit = [&](const std::string& expr, const View& a, const View& b) {
    return KeysAhead(graph, add(expr, {score, a, b}, Dtype::kFloat32), 1, 8, 8);
  };
  EXPECT_EQ(limit("tl.where({2} <= {1} + 2, {0}, float(\"-inf\"))", query, key), 2);
  EXPECT_EQ(limit("tl.where({1} < {2}, {0}, float(\"-inf\"))", key, query), -1);
  EXPECT_EQ(limit("tl.where({1} - {2} >= 3, float(\"-inf\"), {0})", key, query), 2);
  EXPECT_EQ(limit("{0} + tl.where(({1} > {2}) | ({0} < 0), float(\"-inf\"), 0.0)", key, query), 0);
  EXPECT_EQ(limit("tl.where({1} < {2}, {0}, float(\"-inf\"))", query, key), std::nullopt);  // later keys only
  EXPECT_EQ(limit("tl.where({2} <= {1}, {0}, -1e9)", query, key), std::nullopt);
  EXPECT_EQ(limit("tl.where(({1} > {2}) & ({0} < 0), float(\"-inf\"), {0})", key, query), std::nullopt);
  const View mask =
      add("tl.where({0} - {1} <= 1, tl.full([], 1.0, tl.float32), 0)", {key, query}, Dtype::kInt32);
  const View hidden = add("{0} == 0", {mask}, Dtype::kFloat32);
  EXPECT_EQ(limit("tl.where({1}, float(\"-inf\"), {0})", hidden, hidden), 1);
  const auto behind = [&](const std::string& expr, const View& a, const View& b) {
    return KeysBehind(graph, add(expr, {score, a, b}, Dtype::kFloat32), 1, 8, 8);
  };
  EXPECT_EQ(behind("tl.where({1} - {2} < 3, {0}, float(\"-inf\"))", query, key), 2);
  EXPECT_EQ(behind("tl.where({2} <= {1}, {0}, float(\"-inf\"))", query, key), std::nullopt);
  EXPECT_EQ(behind("tl.where({1} < {2}, {0}, float(\"-inf\"))", query, key), -1);
  EXPECT_EQ(behind("tl.where(({2} <= {1}) & (4 >= {1} - {2}), {0}, float(\"-inf\"))", query, key), 4);
  EXPECT_EQ(behind("tl.where({1} - {2} < 8, {0}, float(\"-inf\"))", query, key), std::nullopt);  // all are
  // A distance has limits on both sides, where it is below something.
  const char *near = "tl.where(tl.abs({1} - {2} - 1) <= 3, {0}, float(\"-inf\"))",
             *far = "tl.where(tl.abs({1} - {2}) > 3, {0}, float(\"-inf\"))";
  EXPECT_EQ(limit(near, query, key), 2);
  EXPECT_EQ(behind(near, query, key), 4);
  EXPECT_EQ(behind(near, key, query), 2);
  EXPECT_EQ(limit(far, query, key), std::nullopt);
  EXPECT_EQ(behind(far, query, key), std::nullopt);
  EXPECT_EQ(ChosenUpTo(graph, add(near, {score, query, key}, Dtype::kFloat32), 1, 8, 8, 2), std::nullopt);
}

// Queries that are scaled products could be the weights of an attention without a softmax, which the scores
// would be the result of.
TEST(Attention, OfQueriesThatAreAProductTakesThemAsTheyAre) {
  Maker m;
  const NodeId bias = m.Leaf(NodeKind::kInput, "bias", {25, 25}),
               x = m.Leaf(NodeKind::kInput, "x", {5, 25, 25}), y = m.Leaf(NodeKind::kInput, "y", {5, 25, 25});
  const NodeId queries = m.Op("aten::baddbmm", {Ref(bias), Ref(x), Ref(y)}, {5, 25, 25}),
               attention =
                   m.Op("aten::scaled_dot_product_attention", {Ref(queries), Ref(x), Ref(y)}, {5, 25, 25});
  const auto answers = TeachFunction(m.Finish(attention), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(CountOf(answers[0].source, "@triton.jit"), 2) << answers[0].source;
  EXPECT_EQ(CountOf(answers[0].source, "tl.exp2("), 2) << answers[0].source;
}

}  // namespace
}  // namespace tritogen::teach
