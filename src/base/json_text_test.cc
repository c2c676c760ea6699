#include "base/json_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tritogen {
namespace {

std::string Fault(const std::string& text) {
  try {
    ParseJsonInOrder(text);
    return "none";
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::string ManyKeys(size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":[{}]";
  return text + "}";
}

TEST(JsonText, KeysStayInOrderAndTheLastOfTwoWins) {
  EXPECT_EQ(ParseJsonInOrder(R"({"b": 1, "a": {"z": [], "y": 2}})").dump(), R"({"b":1,"a":{"z":[],"y":2}})");
  EXPECT_EQ(ParseJsonInOrder(R"({"b": 1, "a": 2, "b": 3})").dump(), R"({"b":3,"a":2})");
  EXPECT_EQ(ParseJson(R"({"b": 1, "a": 2, "b": 3})").dump(), R"({"a":2,"b":3})");
}

TEST(JsonText, FaultsInOrderAreThoseWithout) {
  for (const std::string text : {"", "{", "[1,]", "{\"a\" 1}", "1e999", "\"\xff\"", "[] x"}) {
    try {
      ParseJson(text);
      ADD_FAILURE() << text;
    } catch (const FormatError& error) {
      EXPECT_EQ(Fault(text), error.what());
    }
  }
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  EXPECT_EQ(Fault(deep), "JSON nested more than 64 deep");
}

TEST(JsonText, ObjectsInOrderAreSmall) {
  EXPECT_EQ(Fault(ManyKeys(kMostKeysInOrder)), "none");
  EXPECT_EQ(Fault("[{}, " + ManyKeys(kMostKeysInOrder) + ", " + ManyKeys(kMostKeysInOrder) + "]"), "none");
  EXPECT_EQ(Fault("[" + ManyKeys(kMostKeysInOrder + 1) + "]"), "an object with more than 512 keys");
}

}  // namespace
}  // namespace tritogen
