#include "plan/parse.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/error.h"
#include "base/frame.h"
#include "plan/hash.h"
#include "plan/serialize.h"
#include "plan/test_plans.h"

namespace tritogen {
namespace {

using nlohmann::json;

// What the parser says of a broken map; empty when it accepts it.
std::string ErrorOf(const json& map) {
  try {
    ParsePlan(map);
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::string ErrorAfter(const char* pointer, const json& value) {
  json map = SmallPlanMap();
  map[json::json_pointer(pointer)] = value;
  return ErrorOf(map);
}

std::vector<std::filesystem::path> GoldenPlans() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TRITOGEN_SOURCE_DIR "/tests/golden/plans")) {
    if (entry.path().extension() == ".msgpack") files.push_back(entry.path());
  }
  return files;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ParsePlanTest, DictsAreArgumentsOfProgramsAlone) {
  const json nested =
      json::parse(R"({"dict": [["mask", {"t": 0}], ["more", [{"dict": [["k", 1.5], ["", null]]}]]]})");
  json map = SmallPlanMap();
  map["inputs"][0] = nested;
  const Plan plan = ParsePlan(map);
  const auto& found = std::get<Value::Dict>(plan.inputs[0].v);
  EXPECT_EQ(found.keys, (std::vector<std::string>{"mask", "more"}));
  EXPECT_EQ(found.items[0], (Value{TensorRef{0}}));
  EXPECT_EQ(ToJson(plan)["inputs"][0], nested);
  EXPECT_EQ(ErrorAfter("/init_inputs/0", nested), "");
  EXPECT_NE(ErrorAfter("/setup/1/args/2", nested), "");
  EXPECT_NE(ErrorAfter("/outputs/0", nested), "");
  for (const char* entries : {R"([["a", 1], ["a", 2]])", R"([["a"]])", R"([["a", 1, 2]])", R"([[1, 2]])",
                              R"("a")", R"([["a\"", 1]])", R"([["a\\", 1]])", R"([["\n", 1]])",
                              R"([["é", 1]])", R"([["a", {"t": 99}]])", R"([{"a": 1, "b": 2}])"}) {
    EXPECT_NE(ErrorAfter("/inputs/0", {{"dict", json::parse(entries)}}), "") << entries;
  }
  const json object = json::parse(R"({"object": ["Model.Batch", [["x", {"t": 0}], ["_k", 3]]]})");
  map["inputs"][0] = object;
  EXPECT_EQ(ToJson(ParsePlan(map))["inputs"][0], object);
  EXPECT_NE(PlanHash(ParsePlan(map)), PlanHash(plan));
  for (const char* text : {R"(["", []])", R"(["a b", []])", R"([".a", []])", R"(["a.", []])",
                           R"(["a..b", []])", R"(["A", [["x y", 1]]])", R"(["A", [["x.y", 1]]])",
                           R"(["A", [["1", 1]]])", R"(["A"])", R"([1, []])", R"({"A": []})"}) {
    EXPECT_NE(ErrorAfter("/inputs/0", {{"object", json::parse(text)}}), "") << text;
  }
  json deep = 1;
  for (int i = 0; i < 40; ++i) deep = {{"dict", json::array({json::array({"a", deep})})}};
  EXPECT_NE(ErrorAfter("/inputs/0", deep), "");
}

TEST(ParsePlanTest, KeepsEveryField) {
  Plan plan = ParsePlan(SmallPlanMap());
  EXPECT_EQ(plan.role, Role::kCandidate);
  EXPECT_EQ(plan.tensors[4].storage, 4);
  EXPECT_FALSE(plan.tensors[3].on_cuda);
  const auto& normal = std::get<AtenStep>(plan.setup[1]);
  EXPECT_EQ(normal.op, "aten::normal_");
  EXPECT_EQ(normal.args[2], Value{1.0});
  const auto& launch = std::get<LaunchStep>(plan.run[2]);
  EXPECT_EQ(launch.variants[0].grid, (std::array<int64_t, 3>{2, 1, 1}));
  EXPECT_EQ(std::get<PointerArg>(launch.variants[0].args[1]).tensor, 4);
  EXPECT_EQ(launch.variants[0].call[4].first, "BLOCK");
  EXPECT_EQ(plan.init_inputs[1], (Value{Value::List{Value{1.5}, Value{std::string("mode")}}}));
  EXPECT_EQ(plan.state[0].name, "weight");
}

TEST(ParsePlanTest, SerialisationIsTheInverse) {
  json map = SmallPlanMap();
  EXPECT_EQ(ToJson(ParsePlan(map)), map);
}

TEST(ParsePlanTest, BuffersThatAreNotSavedAreNoPartOfTheHash) {
  json map = SmallPlanMap();
  map["unsaved"] = json::array({json::array({"cos", map["state"][0][1], "buffer"})});
  const Plan plan = ParsePlan(map);
  ASSERT_EQ(plan.unsaved.size(), 1u);
  EXPECT_EQ(plan.unsaved[0].name, "cos");
  EXPECT_EQ(ToJson(plan), map);
  EXPECT_EQ(PlanHash(plan), PlanHash(ParsePlan(SmallPlanMap())));
  EXPECT_NE(ErrorAfter("/unsaved", json::array({json::array({"cos", 999, "buffer"})})), "");
}

TEST(ParsePlanTest, RecordedPlansSurviveARoundTrip) {
  ASSERT_GE(GoldenPlans().size(), 3u);
  for (const auto& path : GoldenPlans()) {
    SCOPED_TRACE(path.filename());
    Plan plan = ParsePlan(DecodeMessagePack(ReadFile(path)));
    json map = ToJson(plan);
    Plan again = ParsePlan(json::parse(map.dump()));
    EXPECT_EQ(ToJson(again), map);
    EXPECT_EQ(PlanHash(again), PlanHash(plan));
  }
}

struct Broken {
  const char* pointer;
  json value;
  const char* message;
};

TEST(ParsePlanTest, NamesThePlaceOfEachFault) {
  const int64_t big = int64_t{1} << 62;
  const std::vector<Broken> cases = {
      {"/version", 2, "version: 2 is outside [1, 1]"},
      {"/role", "judge", "role:"},
      {"/extra", 1, "unknown key 'extra'"},
      {"/storages/0", -1, "storages[0]: -1 is outside"},
      {"/storages/0", big, "storages[0]:"},
      {"/storages/0", 20, "tensors[0]: leaves its storage"},
      {"/tensors/0/0", 7, "tensors[0]: no storage 7"},
      {"/tensors/0/1", "float33", "tensors[0][1]: unknown dtype"},
      {"/tensors/0/2", json::array({2}), "tensors[0]: as many strides as sizes"},
      {"/tensors/0/2/0", big, "tensors[0][2][0]:"},
      {"/tensors/0/3/0", int64_t{1} << 55, "tensors[0]: leaves its storage"},
      {"/tensors/0/4", 1, "tensors[0]: leaves its storage"},
      {"/tensors/0/5", "tpu", "tensors[0][5]: a device is"},
      {"/kernels/0/name", "a b", "kernels[0]: malformed name"},
      {"/kernels/0/options/num_warps", 3, "kernels[0]: num_warps is a power of two"},
      {"/kernels/0/options/launch_pdl", true, "kernels[0].options.launch_pdl: a kernel must not start"},
      {"/kernels/0/options/maxnreg", 300, "kernels[0].options.maxnreg: 300 is outside"},
      {"/run/0/op", "aten::relu;", "run[0]: malformed operator name"},
      {"/run/0/op", "launch", "run[0]: unknown key"},
      {"/run/0/args/0", json{{"t", 9}}, "run[0]: no tensor 9"},
      {"/run/0/args/0", json{{"t", 2}}, "run[0]: tensor 2 has no value here"},
      {"/run/0/args/0", json{{"t", -1}}, "run[0].args[0].t: -1 is outside"},
      {"/run/0/args/0", json{{"t", 0}, {"u", 1}}, "run[0].args[0]: a value's map has exactly one key"},
      {"/run/0/args/0", json{{"t", std::nan("")}}, "run[0].args[0].t: expected an integer"},
      {"/run/0/args/0", json{{"t", uint64_t{1} << 63}}, "run[0].args[0].t: the integer does not fit"},
      {"/run/0/outs/0", 4, "run[0]: tensor 4 already has a value"},
      {"/run/0/kwargs", json::array(), "run[0].kwargs: expected a map"},
      {"/run/2/variants", json::array(), "run[2]: a launch needs a variant"},
      {"/run/2/variants/0/kernel", 1, "run[2]: no kernel 1"},
      {"/run/2/variants/0/grid/1", int64_t{1} << 31, "run[2].variants[0].grid[1]:"},
      {"/run/2/variants/0/grid", json::array({1 << 20, 1 << 20, 2}), "run[2]: the grid is too large"},
      {"/run/2/variants/0/args/0/ptr", 3, "run[2]: tensor 3 is not on the device"},
      {"/run/2/variants/0/args/0",
       json{{"desc", {{"t", 1}, {"shape", {2}}, {"strides", {3, 1}}, {"block", {2}}, {"padding", "zero"}}}},
       "run[2]: shape, strides and block of a descriptor differ"},
      {"/inputs/1", json{{"t", 2}}, "run[1]: tensor 2 already has a value"},
      {"/state/0/1", 2, "state[0]: tensor 2 has no value here"},
      {"/state/1", json::array({"weight", 4, "buffer"}), "state[1]: the name occurs twice"},
      {"/outputs/0", json{{"t", 7}}, "outputs: no tensor 7"},
      {"/structure", "(*,*)", "structure: as many leaves as outputs"},
      {"/structure", "[*", "structure: expected"},
      {"/structure", "{\"*\":*}*", "structure: text after the end"},
      {"/generate/0", SmallPlanMap()["setup"][0], "generate: candidates make no inputs"},
  };
  for (const Broken& broken : cases) {
    std::string error = ErrorAfter(broken.pointer, broken.value);
    EXPECT_NE(error.find(broken.message), std::string::npos) << broken.pointer << ": got '" << error << "'";
  }
}

TEST(ParsePlanTest, AcceptsStructures) {
  for (const char* text : {"*", "(*,)", "[*]", "{\"a, *\\\"\":*}", "[([*])]"}) {
    EXPECT_EQ(ErrorAfter("/structure", text), "") << text;
  }
}

TEST(ParsePlanTest, HugeTensorsAreLegal) {
  json map = SmallPlanMap();
  map["storages"][1] = map["storages"][2] = int64_t{10'000'000'000'000};
  map["tensors"][1] = json::array({1, "float32", {1'000'000, 2'000'000}, {2'000'000, 1}, 0, "cuda"});
  EXPECT_EQ(ErrorOf(map), "");
}

TEST(ParsePlanTest, DeepListsAreRefused) {
  json value = 1;
  for (int i = 0; i < 40; ++i) value = json::array({value});
  EXPECT_NE(ErrorAfter("/run/0/args/0", value).find("lists nest too deeply"), std::string::npos);
}

TEST(ParsePlanTest, MissingKeysAreNamed) {
  const json map = SmallPlanMap();
  for (const auto& [key, value] : map.items()) {
    json without = map;
    without.erase(key);
    EXPECT_EQ(ErrorOf(without), "key '" + key + "' is missing");
  }
}

TEST(ParsePlanTest, ConstantsMustFillTheirTensor) {
  json map = SmallPlanMap();
  map["storages"].push_back(2);
  map["tensors"].push_back(json::array({5, "bool", {2}, {1}, 0, "cpu"}));
  map["setup"].push_back({{"op", "constant"}, {"out", 5}, {"data", json::binary({0, 1})}, {"line", 1}});
  EXPECT_EQ(ErrorOf(map), "");
  map["setup"][3]["data"] = json::binary({0, 2});
  EXPECT_EQ(ErrorOf(map), "setup[3]: a bool is 0 or 1");
  map["setup"][3]["data"] = json::binary({0});
  EXPECT_EQ(ErrorOf(map), "setup[3]: 1 bytes do not fill the tensor");
}

TEST(ParsePlanTest, MutatedBytesNeverCrash) {
  std::mt19937_64 random(7);
  std::string seed;
  json::to_msgpack(SmallPlanMap(), seed);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seed;
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      size_t at = random() % bytes.size();
      if (random() % 4 == 0) {
        bytes.erase(at, 1 + random() % 8);
      } else {
        bytes[at] = static_cast<char>(random());
      }
      if (bytes.empty()) bytes = seed;
    }
    try {
      PlanHash(ParsePlan(DecodeMessagePack(bytes)));
      ++accepted;
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace tritogen
