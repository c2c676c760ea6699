// Batches hold each example once, with the targets and weights that its parts say, and little else.
#include "train/packing.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen::train {
namespace {

// Examples whose tokens say whose they are: 1000 · example + place, for lengths below 1000.
Corpus RandomCorpus(int64_t count, int64_t least, int64_t most, uint64_t seed = 1) {
  Corpus corpus;
  SplitMix random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const auto size = static_cast<int32_t>(least + random.Below(most - least + 1));
    Example example;
    for (int32_t k = 0; k < size; ++k) example.tokens.push_back(static_cast<int32_t>(1000 * i + k % 1000));
    example.plan = 1 + static_cast<int32_t>(random.Below(size));
    example.code = example.plan + static_cast<int32_t>(random.Below(size - example.plan + 1));
    corpus.Add(example);
  }
  return corpus;
}

bool Equal(const PackedBatch& a, const PackedBatch& b) {
  return a.tokens == b.tokens && a.targets == b.targets && a.weights == b.weights &&
         a.positions == b.positions && a.starts == b.starts;
}

// Checks the form of a batch, and calls with the tokens of each document: [begin, end).
template <typename F>
void ForEachDocument(const PackedBatch& batch, const PackingOptions& options, const F& on_document) {
  ASSERT_EQ(static_cast<int64_t>(batch.tokens.size()), options.tokens);
  ASSERT_EQ(batch.targets.size(), batch.tokens.size());
  ASSERT_EQ(batch.weights.size(), batch.tokens.size());
  ASSERT_EQ(batch.positions.size(), batch.tokens.size());
  ASSERT_EQ(static_cast<int64_t>(batch.starts.size()), options.most_documents + 1);
  ASSERT_EQ(batch.starts.front(), 0);
  ASSERT_EQ(batch.starts.back(), options.tokens);
  for (size_t d = 0; d + 1 < batch.starts.size(); ++d) {
    const int32_t begin = batch.starts[d], end = batch.starts[d + 1];
    ASSERT_LE(begin, end);
    ASSERT_LE(end - begin, options.longest);
    for (int32_t i = begin; i < end; ++i) ASSERT_EQ(batch.positions[i], i - begin);
    if (begin < end) on_document(begin, end);
  }
}

TEST(Packer, EachExampleOnceWithTargetsAndWeights) {
  const Corpus corpus = RandomCorpus(700, 1, 200);
  Packer packer(corpus, {.tokens = 2048, .longest = 256, .plan_weight = 0.5, .code_weight = 2});
  packer.BeginEpoch(3);
  std::map<int64_t, int> seen;
  for (int64_t b = 0; b < packer.batches(); ++b) {
    const PackedBatch batch = packer.Make(b);
    ForEachDocument(batch, packer.options(), [&](int32_t begin, int32_t end) {
      const int64_t index = batch.tokens[begin] / 1000;
      // Padding looks like a beginning of example 0 that goes on wrongly, or is without targets.
      const Corpus::View example = corpus.at(index);
      const bool whole = end - begin == static_cast<int32_t>(example.tokens.size()) &&
                         std::equal(example.tokens.begin(), example.tokens.end(), &batch.tokens[begin]);
      if (whole) ++seen[index];
      for (int32_t i = begin; i < end; ++i) {
        const int32_t next = i - begin + 1;
        const bool learned = whole && next >= example.plan && next < end - begin;
        ASSERT_EQ(batch.targets[i], learned ? example.tokens[next] : -1);
        ASSERT_EQ(batch.weights[i], !learned ? 0 : next < example.code ? 0.5 : 2);
        if (!whole) {
          ASSERT_EQ(batch.tokens[i], 0);
        }
      }
    });
  }
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const bool like_padding = corpus.at(i).tokens.size() == 1 && i == 0;
    if (!like_padding) {
      EXPECT_EQ(seen[i], 1) << i;
    }
  }
}

TEST(Packer, AWeightOfZeroIsNoTarget) {
  Corpus corpus;
  corpus.Add({.tokens = {5, 6, 7, 8, 9}, .plan = 2, .code = 4});
  Packer packer(corpus, {.tokens = 8, .longest = 8, .plan_weight = 0});
  packer.BeginEpoch(0);
  ASSERT_EQ(packer.batches(), 1);
  const PackedBatch batch = packer.Make(0);
  EXPECT_EQ(batch.targets, (std::vector<int32_t>{-1, -1, -1, 9, -1, -1, -1, -1}));
  EXPECT_EQ(batch.weights, (std::vector<float>{0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(batch.positions, (std::vector<int32_t>{0, 1, 2, 3, 4, 0, 1, 2}));
  EXPECT_EQ(batch.starts, (std::vector<int32_t>{0, 5, 8}));
}

TEST(Packer, LittleIsPadding) {
  const Corpus corpus = RandomCorpus(4000, 300, 1500);
  Packer packer(corpus, {});
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    packer.BeginEpoch(epoch);
    // All but the last batch, which has what is left over.
    EXPECT_GT(packer.fill(), 0.97);
    EXPECT_LE(packer.fill(), 1);
    EXPECT_GT(static_cast<double>(corpus.tokens()) / static_cast<double>((packer.batches() - 1) * 65536),
              0.99);
  }
}

TEST(Packer, DependsOnSeedAndEpochAlone) {
  const Corpus corpus = RandomCorpus(500, 20, 90);
  const PackingOptions options{.tokens = 1024, .longest = 128, .seed = 5};
  Packer once(corpus, options), again(corpus, options);
  once.BeginEpoch(0);
  again.BeginEpoch(7);
  again.BeginEpoch(0);
  ASSERT_EQ(once.batches(), again.batches());
  for (int64_t b = 0; b < once.batches(); ++b) EXPECT_TRUE(Equal(once.Make(b), again.Make(b)));
  again.BeginEpoch(1);
  EXPECT_FALSE(Equal(once.Make(0), again.Make(0)));
  Packer other(corpus, {.tokens = 1024, .longest = 128, .seed = 6});
  other.BeginEpoch(0);
  EXPECT_FALSE(Equal(once.Make(0), other.Make(0)));
  // The order is part of what a checkpoint means: it is the same everywhere.
  EXPECT_EQ(once.Make(0).tokens[0], 110000);
}

TEST(Packer, NoBatchHasMoreDocumentsThanAllowed) {
  const Corpus corpus = RandomCorpus(300, 1, 12);
  for (const int64_t most : {5, 9, 40}) {
    const PackingOptions options{.tokens = 256, .longest = 64, .most_documents = most};
    Packer packer(corpus, options);
    packer.BeginEpoch(0);
    int64_t documents = 0;
    for (int64_t b = 0; b < packer.batches(); ++b)
      ForEachDocument(packer.Make(b), options, [&](int32_t, int32_t) { ++documents; });
    EXPECT_GE(documents, 300);
  }
  EXPECT_THROW(Packer(corpus, {.tokens = 256, .longest = 64, .most_documents = 4}), UserError);
}

TEST(Packer, NoExamplesNoBatches) {
  const Corpus corpus;
  Packer packer(corpus, {});
  packer.BeginEpoch(0);
  EXPECT_EQ(packer.batches(), 0);
  EXPECT_EQ(packer.fill(), 0);
}

TEST(Corpus, HashSaysWhetherExamplesAreEqual) {
  const Example example{.tokens = {1, 2, 3, 4}, .plan = 2, .code = 3};
  const auto hash = [](const std::vector<Example>& examples) {
    Corpus corpus;
    for (const Example& e : examples) corpus.Add(e);
    return corpus.sha256();
  };
  Example other = example;
  EXPECT_EQ(hash({example, other}), hash({example, other}));
  EXPECT_NE(hash({example}), hash({example, other}));
  other.code = 4;
  EXPECT_NE(hash({example}), hash({other}));
  other = example;
  other.tokens[3] = 5;
  EXPECT_NE(hash({example}), hash({other}));
  EXPECT_NE(hash({example, other}), hash({other, example}));
  Corpus corpus;
  corpus.Add(example);
  EXPECT_EQ(corpus.answer_tokens(), 2);
  EXPECT_EQ(corpus.tokens(), 4);
}

}  // namespace
}  // namespace tritogen::train
