#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <list>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/temp_dir.h"
#include "model/config.h"
#include "model/weights.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::string FileOf(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string ErrorOf(const std::string& file) {
  try {
    ParseSafetensors(file);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

std::string UserErrorOf(const std::function<void()>& what) {
  try {
    what();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string Tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", dtype, shape, offsets);
}

TEST(Safetensors, ReadsWhatIsThere) {
  const auto contents = ParseSafetensors(
      FileOf(R"({"__metadata__":{"format":"pt"},"a":)" + Tensor("F32", "[2]", "[2,10]") + R"(,"b":)" +
                 Tensor("BF16", "[]", "[0,2]") + R"(,"empty":)" + Tensor("I64", "[0,3]", "[10,10]") + "}  ",
             "xyABCDEFGH"));
  EXPECT_EQ(contents.metadata.at("format"), "pt");
  EXPECT_EQ(contents.tensors.at("a").bytes, "ABCDEFGH");
  EXPECT_EQ(contents.tensors.at("a").shape, std::vector<int64_t>{2});
  EXPECT_EQ(contents.tensors.at("b").bytes, "xy");
  EXPECT_TRUE(contents.tensors.at("empty").bytes.empty());
  EXPECT_TRUE(ParseSafetensors(FileOf("{}", "")).tensors.empty());
}

TEST(Safetensors, RefusesLies) {
  const std::string good = Tensor("U8", "[4]", "[0,4]");
  const auto one = [](const std::string& tensor) { return FileOf("{\"a\":" + tensor + "}", "data"); };
  ASSERT_EQ(ErrorOf(one(good)), "");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"short", "no safetensors file"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "a header of 9223372036854775807 bytes"},
      {std::string("\x03\0\0\0\0\0\0\0{}", 10), "truncated"},
      {FileOf("[]", ""), "does not begin with '{'"},
      {FileOf("{\"a\":", ""), "not JSON"},
      {FileOf("{\"a\":" + good + ",\"a\":" + good + "}", "data"), "'a' occurs twice"},
      {one(Tensor("F99", "[4]", "[0,4]")), "'F99' is no element type"},
      {one(Tensor("U8", "[5]", "[0,4]")), "4 bytes for a U8 tensor of shape [5], which has 5"},
      {one(Tensor("U8", "[4]", "[0,5]")), "outside the 4 bytes"},
      {one(Tensor("U8", "[4]", "[4,0]")), "outside"},
      {one(Tensor("U8", "[4]", "[-1,3]")), "outside"},
      {one(Tensor("U8", "[-4]", "[0,4]")), "outside"},
      {one(Tensor("F32", "[4611686018427387904,4]", "[0,4]")), "no tensor has the shape"},
      {one(Tensor("U8", "[4]", "[0,4,4]")), "expected 2 elements"},
      {one(Tensor("U8", "[4.0]", "[0,4]")), "expected an integer"},
      {one(Tensor("U8", "[3]", "[1,4]")), "there is a hole"},
      {one(Tensor("U8", "[3]", "[0,3]")), "the tensors end at byte 3 of the data, the file has 4"},
      {FileOf("{\"a\":" + good + ",\"b\":" + Tensor("U8", "[2]", "[2,4]") + "}", "data"), "tensors overlap"},
      {one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4],"more":1})"), "unknown key"},
      {one(R"({"dtype":"U8","shape":[4]})"), "'data_offsets' is missing"},
      {FileOf(R"({"__metadata__":{"a":1}})", ""), "expected a string"},
      {FileOf("{\"a\":" + std::string(100, '['), ""), "nested"},
      {FileOf("{\"\xff\":1}", ""), "not JSON"},
  };
  for (const auto& [file, expected] : cases) {
    EXPECT_NE(ErrorOf(file).find(expected), std::string::npos) << expected << " / " << ErrorOf(file);
  }
}

TEST(Checkpoint, ReadsWhatTransformersSaved) {
  const std::string folder = std::string(TRITOGEN_SOURCE_DIR) + "/tests/golden/models/sharded";
  const Checkpoint checkpoint(folder);
  CheckWeights(LoadModelConfig(folder + "/config.json"), checkpoint.tensors(), folder);
  CheckFinite(checkpoint.tensors(), folder);
  const json sums = ParseJson(ReadFile(folder + "/sums.json"));
  for (const auto& [name, expected] : sums.items()) {
    const TensorView& tensor = checkpoint.tensors().at(name);
    EXPECT_EQ(DtypeName(tensor.dtype), expected[0].get<std::string>());
    double sum = 0;
    for (size_t i = 0; i + 1 < tensor.bytes.size(); i += 2) {
      uint32_t bits = 0;
      std::memcpy(reinterpret_cast<char*>(&bits) + 2, tensor.bytes.data() + i,
                  2);  // bf16: the upper half of fp32
      float value;
      std::memcpy(&value, &bits, 4);
      sum += value;
    }
    EXPECT_NEAR(sum, expected[1].get<double>(), 1e-9) << name;
  }
}

class Folder : public testing::Test {
 protected:
  Folder() {
    for (int i = 0; i < 5; ++i) {
      data_.push_back(std::string(static_cast<size_t>(8 * (i + 1)), static_cast<char>('a' + i)));
      tensors_["t" + std::to_string(i)] = {
          i % 2 ? Dtype::kBFloat16 : Dtype::kFloat32, {i + 1, i % 2 ? 4 : 2}, data_.back()};
    }
  }
  void Spoil(const std::string& name, const std::string& contents) {
    std::filesystem::remove(dir_.path() / name);
    WriteFileAtomic(dir_.path() / name, contents);
  }
  std::string OpenError() {
    return UserErrorOf([&] { Checkpoint checkpoint(dir_.path()); });
  }
  TempDir dir_;
  std::list<std::string> data_;
  TensorMap tensors_;
};

TEST_F(Folder, WhatIsWrittenReadsBack) {
  for (const uint64_t shard : {uint64_t{1}, uint64_t{50}, uint64_t{1000}}) {
    const auto folder = dir_.path() / std::to_string(shard);
    WriteCheckpoint(folder, tensors_, shard);
    EXPECT_EQ(std::filesystem::exists(folder / "model.safetensors.index.json"), shard < 1000);
    const Checkpoint checkpoint(folder);
    ASSERT_EQ(checkpoint.tensors().size(), tensors_.size());
    for (const auto& [name, tensor] : tensors_) {
      const TensorView& read = checkpoint.tensors().at(name);
      EXPECT_EQ(read.bytes, tensor.bytes);
      EXPECT_EQ(read.shape, tensor.shape);
      EXPECT_EQ(read.dtype, tensor.dtype);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(read.bytes.data()) % DtypeSize(read.dtype), 0u);
    }
    EXPECT_NE(UserErrorOf([&] { WriteCheckpoint(folder, tensors_, shard); }).find("holds weights already"),
              std::string::npos);
  }
}

TEST_F(Folder, DamageIsNamed) {
  EXPECT_NE(OpenError().find("has no weights"), std::string::npos);
  WriteCheckpoint(dir_.path(), tensors_, 50);
  ASSERT_EQ(OpenError(), "");
  const std::string index_name = "model.safetensors.index.json", shard = "model-00002-of-00003.safetensors";
  const std::string index = ReadFile(dir_.path() / index_name), bytes = ReadFile(dir_.path() / shard);
  const auto with_map = [&](const std::string& tensor, const json& file) {
    json changed = json::parse(index);
    changed["weight_map"][tensor] = file;
    if (file.is_null()) changed["weight_map"].erase(tensor);
    return changed.dump();
  };
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {index_name, with_map("t9", shard), "tensor 't9' should be in"},
      {index_name, with_map("t1", nullptr), "which the index does not know"},
      {index_name, with_map("t3", "../secret.safetensors"), "is no safetensors file of this folder"},
      {index_name, with_map("t3", "other.safetensors"), "other.safetensors"},
      {index_name, with_map("t3", "a\nb.safetensors"), "is no safetensors file of this folder"},
      {index_name, with_map("t3", "\x1b[2J.safetensors"), "is no safetensors file of this folder"},
      {index_name, with_map("t3", 5), "expected a string"},
      {index_name, "{", "not JSON"},
      {shard, bytes.substr(0, bytes.size() - 1), shard},
      {shard, "", "no safetensors file"},
      {shard, ReadFile(dir_.path() / "model-00001-of-00003.safetensors"), "is in another shard, too"},
  };
  for (const auto& [file, contents, expected] : cases) {
    Spoil(file, contents);
    EXPECT_NE(OpenError().find(expected), std::string::npos) << expected << " / " << OpenError();
    Spoil(index_name, index);
    Spoil(shard, bytes);
  }
  std::filesystem::remove(dir_.path() / shard);
  EXPECT_NE(OpenError().find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace tritogen
