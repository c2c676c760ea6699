#include "train/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/temp_dir.h"

namespace tritogen::train {
namespace {

// A reader of its own, from the format's description.
struct Field {
  uint64_t number = 0;
  std::string bytes;
};

uint64_t ReadVarint(std::string_view* text) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(text->front());
    text->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

std::multimap<int, Field> ReadMessage(std::string_view text) {
  std::multimap<int, Field> fields;
  while (!text.empty()) {
    const uint64_t key = ReadVarint(&text);
    Field field;
    const int type = static_cast<int>(key & 7);
    size_t length = 0;
    if (type == 0) field.number = ReadVarint(&text);
    if (type == 1) length = 8;
    if (type == 2) length = ReadVarint(&text);
    if (type == 5) length = 4;
    field.bytes = text.substr(0, length);
    text.remove_prefix(length);
    fields.emplace(static_cast<int>(key >> 3), field);
  }
  return fields;
}

template <typename T>
T As(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

uint32_t Unmasked(std::string_view bytes) {
  const uint32_t rotated = As<uint32_t>(bytes) - 0xa282ead8u;
  return rotated >> 17 | rotated << 15;
}

std::vector<std::string> ReadRecords(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const auto length = As<uint64_t>(file);
    EXPECT_EQ(Unmasked(file.substr(8)), Crc32c(file.substr(0, 8)));
    records.emplace_back(file.substr(12, length));
    EXPECT_EQ(Unmasked(file.substr(12 + length)), Crc32c(records.back()));
    file.remove_prefix(16 + length);
  }
  return records;
}

TEST(EventFileTest, HoldsWhatWasAdded) {
  const TempDir folder;
  {
    EventFile file(folder.path(), 301);
    file.Add(301, std::vector<std::pair<std::string, double>>{{"train/loss", 1.5}, {"train/lr", 1e-3}});
  }
  const auto path = *std::filesystem::directory_iterator(folder.path());
  EXPECT_TRUE(path.path().filename().string().starts_with("events.out.tfevents."));
  const std::vector<std::string> records = ReadRecords(ReadFile(path));
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(ReadMessage(records[0]).find(3)->second.bytes, "brain.Event:2");
  const auto start = ReadMessage(records[1]);
  EXPECT_EQ(start.find(2)->second.number, 301);
  EXPECT_EQ(ReadMessage(start.find(7)->second.bytes).find(1)->second.number, 1);
  const auto event = ReadMessage(records[2]);
  EXPECT_EQ(event.find(2)->second.number, 301);
  EXPECT_GT(As<double>(event.find(1)->second.bytes), 1.6e9);
  std::map<std::string, float> scalars;
  const auto summary = ReadMessage(event.find(5)->second.bytes);
  for (const auto& [field, value] : summary) {
    EXPECT_EQ(field, 1);
    const auto pair = ReadMessage(value.bytes);
    scalars[pair.find(1)->second.bytes] = As<float>(pair.find(2)->second.bytes);
  }
  EXPECT_EQ(scalars, (std::map<std::string, float>{{"train/loss", 1.5f}, {"train/lr", 1e-3f}}));
}

}  // namespace
}  // namespace tritogen::train
