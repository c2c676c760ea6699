#include "base/frame.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::string Framed(const std::string& body) {
  std::string frame(4, '\0');
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(body.size() >> (8 * i));
  return frame + body;
}

TEST(FrameTest, GivesBackWhatWentIn) {
  const json map = {{"a", {1, -2, 3.5, nullptr, true, "ü"}},
                    {"long", std::string(70000, 'x')},
                    {"data", json::binary({0, 255, 7})},
                    {"nested", {{"big", uint64_t{1} << 63}, {"small", INT64_MIN}}}};
  EXPECT_EQ(DecodeFrame(EncodeFrame(map)), map);
}

TEST(FrameTest, AMessageThatIsTooLongIsTheUsersFault) {
  EXPECT_THROW(EncodeFrame({{"text", std::string(kMaxFrameBytes, 'x')}}), UserError);
}

TEST(FrameTest, RefusesEverythingButOneWholeFrame) {
  const std::string good = EncodeFrame({{"ok", true}});
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(DecodeFrame(good.substr(0, size)), FormatError) << size;
  EXPECT_THROW(DecodeFrame(good + good), FormatError);
  EXPECT_THROW(DecodeFrame(good + '\0'), FormatError);
  EXPECT_THROW(DecodeFrame("\xff\xff\xff\xff"), FormatError);
  EXPECT_THROW(DecodeFrame(Framed("\x91\xc0")), FormatError) << "an array, no map";
  EXPECT_THROW(DecodeFrame(Framed("")), FormatError);
}

TEST(MessagePackTest, RefusesWhatWouldHurtTheParser) {
  EXPECT_THROW(DecodeMessagePack(std::string(1 << 20, '\x91') + '\xc0'), FormatError) << "nested arrays";
  std::string maps;
  for (int i = 0; i < 100; ++i) maps += "\x81\xa1k";
  EXPECT_THROW(DecodeMessagePack(maps + '\xc0'), FormatError) << "nested maps";
  EXPECT_NO_THROW(DecodeMessagePack(std::string(64, '\x91') + '\xc0'));
  EXPECT_THROW(DecodeMessagePack(std::string("\xdd\xff\xff\xff\xff\xc0", 6)), FormatError)
      << "four billion values";
  EXPECT_THROW(DecodeMessagePack(std::string("\xc6\xff\xff\xff\xff", 5)), FormatError)
      << "four billion bytes";
  EXPECT_THROW(DecodeMessagePack(std::string("\xdd\x01\x00\x00\x00", 5) + std::string(1 << 24, '\xc0')),
               FormatError)
      << "too many values";
}

TEST(MessagePackTest, RefusesWhatJsonCannotHold) {
  EXPECT_THROW(DecodeMessagePack("\xa1\xff"), FormatError) << "not UTF-8";
  EXPECT_THROW(DecodeMessagePack("\x81\x01\x02"), FormatError) << "a number as key";
  EXPECT_THROW(DecodeMessagePack("\xd4\x01\x02"), FormatError) << "an extension type";
  EXPECT_THROW(DecodeMessagePack("\xc1"), FormatError) << "the unused byte";
}

// Any change of any byte gives a value or a FormatError.
TEST(MessagePackTest, SurvivesMutations) {
  const std::string good =
      EncodeFrame({{"plan", {{"tensors", {{0, "float32", {2, 3}, {3, 1}, 0}}}, {"x", 1.5}}}}).substr(4);
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int edits = 1 + random() % 3; edits > 0; --edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      DecodeMessagePack(bytes);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tritogen
