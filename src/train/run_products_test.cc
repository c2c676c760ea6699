// Choices of products: in checkpoints, over ranks, in the configuration.
#include "train/run_products.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/temp_dir.h"
#include "ranks/ranks_test_util.h"
#include "train/train_test_util.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kAlgorithm =
    std::string(64, '0') + "0123456789abcdef" + std::string(48, 'f');  // 64 bytes: looks like one
const ProductChoices kChoices = {{"forward 9728x32768x896 bias", kAlgorithm},
                                 {"to input 896x32768x9728", kByAten},
                                 {"to weights 896x9728x32768", kAlgorithm}};

class ProductsInCheckpointTest : public testing::Test {
 protected:
  ProductsInCheckpointTest() : state_(SmallModel(ModelFamily::kQwen3, /*tied=*/true)) {
    state_.steps = position_.step = 3;
    position_.identity = {{"train", {{"lr", 0.5}}}};
  }
  fs::path Save() {
    return Checkpoints(temp_.path() / "checkpoints", 2)
        .Save(position_, state_, state_.master.weights, temp_.path());
  }
  RunPosition Load(const fs::path& checkpoint) {
    HostState state(state_.master.weights.config);
    return LoadCheckpoint(checkpoint, &state);
  }
  // Changes training.json as somebody would who also mends its checksum.
  static void Change(const fs::path& checkpoint, const std::function<void(json*)>& change) {
    const fs::path path = checkpoint / "training.json";
    json text = json::parse(ReadFile(path));
    change(&text);
    text.erase("crc32c");
    text["crc32c"] = Crc32c(text.dump());
    WriteFileAtomic(path, text.dump());
  }
  std::string WhyRefused(const json& products) {
    const fs::path checkpoint = Save();
    Change(checkpoint, [&](json* text) { (*text)["products"] = products; });
    try {
      Load(checkpoint);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

  TempDir temp_;
  HostState state_;
  RunPosition position_;
};

TEST_F(ProductsInCheckpointTest, ComeBackAsTheyWere) {
  for (const ProductChoices& choices : {kChoices, ProductChoices()}) {
    position_.products = choices;
    const RunPosition read = Load(Save());
    ASSERT_TRUE(read.products);
    EXPECT_EQ(*read.products, choices);
  }
}

TEST_F(ProductsInCheckpointTest, AreNoneInOneOfAnEarlierRelease) {
  position_.products = kChoices;
  const fs::path checkpoint = Save();
  Change(checkpoint, [](json* text) { text->erase("products"); });
  const RunPosition read = Load(checkpoint);
  ASSERT_TRUE(read.products);  // decided: by ATen
  EXPECT_TRUE(read.products->empty());
}

TEST_F(ProductsInCheckpointTest, AreRefusedWhereTheyAreMalformed) {
  for (const std::string& text :
       {std::string(), std::string("atem"), kAlgorithm + "0", "g" + kAlgorithm.substr(1),
        "F" + kAlgorithm.substr(1), kAlgorithm.substr(1)}) {
    const std::string why = WhyRefused({{"forward 1x1x1", text}});
    EXPECT_NE(why.find("step-00000003 is damaged: products.forward 1x1x1"), why.npos) << why;
    EXPECT_NE(why.find("is no algorithm of a product"), why.npos) << why;
  }
  for (const json& products : {json("text"), json::array({"aten"}), json{{"forward 1x1x1", 5}}, json()}) {
    const std::string why = WhyRefused(products);
    EXPECT_NE(why.find("is damaged: products"), why.npos) << why;
  }
}

TEST(RunProductsTest, TheKeyIsReadAndMayChangeWhenARunGoesOn) {
  const auto read = [](const std::string& line) {
    return ReadSftOptions("[train]\nsteps = 3\n" + line, "sft.toml");
  };
  EXPECT_FALSE(read("").train.choose_products);
  const SftOptions chosen = read("choose_products = true\n");
  EXPECT_TRUE(chosen.train.choose_products);
  EXPECT_TRUE(Differences(Identity(read("")), Identity(chosen)).empty());
  EXPECT_FALSE(Identity(chosen)["train"].contains("choose_products"));  // as in earlier releases
  EXPECT_THROW(read("choose_products = 1\n"), UserError);
}

TEST(RunProductsTest, AllRanksHaveTheFirstOnesAndRefuseTogether) {
  for (const ProductChoices& choices : {kChoices, ProductChoices()}) {
    OnRanks(3, [&](const std::shared_ptr<Ranks>& ranks) {
      const ProductChoices own = {{"forward 1x1x1", kByAten}};  // others' count for nothing
      EXPECT_EQ(ProductsOfFirst(ranks.get(), ranks->rank() == 0 ? choices : own, at::kCPU), choices);
    });
  }
  const std::string first = kChoices.begin()->first, last = kChoices.rbegin()->first;
  OnRanks(3, [&](const std::shared_ptr<Ranks>& ranks) {
    const auto refused = [&](const std::set<std::string>& mine) {
      return RefusedByAny(ranks.get(), kChoices, mine, at::kCPU);
    };
    using Names = std::set<std::string>;
    EXPECT_EQ(refused({}), Names());
    EXPECT_EQ(refused(ranks->rank() == 1 ? Names{last} : Names()), Names{last});
    EXPECT_EQ(refused(ranks->rank() == 0 ? Names{first} : Names{last}), (Names{first, last}));
  });
}

// Where nothing can be chosen the key changes nothing, and what a GPU had chosen stays as it was.
TEST(RunProductsTest, OnACpuNothingIsChosenAndNothingLost) {
  OnRanks(2, [&](const std::shared_ptr<Ranks>& ranks) {
    SftOptions options;
    options.train.choose_products = true;
    std::vector<std::string> remarks;
    SftRun run;
    run.on_remark = [&](const std::string& text) { remarks.push_back(text); };
    Trainer trainer(SmallModel(ModelFamily::kQwen3, true), options.train,
                    {.tokens = 32, .most_documents = 2, .longest = 32}, at::kCPU, ranks.get());
    std::optional<ProductChoices> products;
    SetProducts(options, run, ranks.get(), &trainer, &products);
    ASSERT_TRUE(products);
    EXPECT_TRUE(products->empty());
    products = kChoices;
    SetProducts(options, run, ranks.get(), &trainer, &products);
    EXPECT_EQ(*products, kChoices);
    EXPECT_TRUE(trainer.products().empty() && remarks.empty());
  });
}

}  // namespace
}  // namespace tritogen::train
