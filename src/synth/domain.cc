#include "synth/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "program/signature.h"

namespace tritogen::synth {
namespace {

constexpr int64_t kLargest = int64_t{1} << 31;  // a product of two still fits

std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Domain::Domain(std::initializer_list<int64_t> values) : Domain(Of(values)) {}

Domain Domain::Interval(int64_t low, int64_t high) {
  Domain domain;
  high = std::min(high, kLargest);
  if (low <= high) domain.ranges_ = {{low, high}};
  domain.Normalise();
  return domain;
}

Domain Domain::Of(const std::vector<int64_t>& values) {
  Domain domain;
  for (int64_t value : values) domain.ranges_.push_back({value, value});
  domain.Normalise();
  return domain;
}

Domain Domain::Parse(std::string_view text) {
  if (text == "common") return Common();
  if (text == "many") return Many();
  Domain domain;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = Trimmed(text.substr(0, comma), " ");
    const size_t dots = part.find("..");
    const auto low = Number(part.substr(0, dots));
    const auto high = dots == std::string_view::npos ? low : Number(part.substr(dots + 2));
    if (!low || !high || *low < 1 || *high > kLargest || *low > *high) {
      throw UserError(
          fmt::format("'{}' is no set of sizes: give numbers from 1 to {} and ranges, as in "
                      "1..8,16,32, or common, or many",
                      part, kLargest));
    }
    domain.ranges_.push_back({*low, *high});
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  if (domain.ranges_.empty()) throw UserError("the set of sizes is empty: give some, as in 1..8,16,32");
  domain.Normalise();
  return domain;
}

const Domain& Domain::Common() {
  static const Domain sizes{1,  2,  3,   4,   5,   7,   8,   12,  16,  17,  24,   31,   32,   48,   56,
                            64, 96, 100, 128, 192, 224, 256, 384, 512, 768, 1000, 1024, 2048, 4096, 8192};
  return sizes;
}

const Domain& Domain::Many() {
  static const Domain sizes = Parse(
      "1..5,7,8,12,14..19,21..26,28..39,41..62,64,66,68,70,74..77,81,84,85,88,90..92,95,96,98,100,101,"
      "104,105,108,110,112,114,115,117,121,125..130,132,135,136,140,147,150,152,153,156,162,165,168,170,"
      "175,176,180,184,187,190,192,196,198,204,208,210,216,220,224,225,231,232,240,242,243,248,255..257,"
      "260,264,270,272,280,288,289,294,300,306,308,312,324,330,336,343,350,352,360,375,378,384,390,392,"
      "400,408,416,420,432,440,441,448,450,462,468,480,484,490,504,510,512,513,520,528,540,560,576,588,"
      "600,624,625,648,650,672,675,686,700,704,720,729,750,756,768,784,800,810,832,840,864,875,880,896,"
      "900,924,936,945,960,972,980,990,1000,1023,1024,1050,1080,1100,1120,1152,1200,1250,1296,1300,1331,"
      "1344,1400,1440,1500,1536,1600,1680,1728,1792,1800,1920,2000,2048,2100,2187,2304,2400,2560,2700,"
      "3000,3072,3200,3600,4000,4096,5000,6000,6144,8000,8192,10000,12000,16000");
  return sizes;
}

bool Domain::Contains(int64_t value) const {
  return !empty() && value >= min() && AtMost(value) == value;
}

int64_t Domain::AtMost(int64_t value) const {
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), value,
                             [](int64_t v, const Range& range) { return v < range.low; });
  TRITOGEN_CHECK(it != ranges_.begin());
  return std::min(value, std::prev(it)->high);
}

std::vector<int64_t> Domain::Values() const {
  std::vector<int64_t> values;
  values.reserve(size_);
  for (const Range& range : ranges_) {
    for (int64_t v = range.low; v <= range.high; ++v) values.push_back(v);
  }
  return values;
}

Domain Domain::And(const Domain& other) const {
  if (*this == other) return *this;
  Domain both;
  for (size_t i = 0, j = 0; i < ranges_.size() && j < other.ranges_.size();) {
    const Range &a = ranges_[i], &b = other.ranges_[j];
    const Range meet{std::max(a.low, b.low), std::min(a.high, b.high)};
    if (meet.low <= meet.high) both.ranges_.push_back(meet);
    a.high < b.high ? ++i : ++j;
  }
  both.Normalise();
  return both;
}

std::string Domain::ToString() const {
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ", ";
    text +=
        range.low == range.high ? fmt::format("{}", range.low) : fmt::format("{}..{}", range.low, range.high);
  }
  return "{" + text + "}";
}

void Domain::Normalise() {
  std::sort(ranges_.begin(), ranges_.end());
  std::vector<Range> merged;
  for (const Range& range : ranges_) {
    if (!merged.empty() && range.low <= merged.back().high + 1)
      merged.back().high = std::max(merged.back().high, range.high);
    else
      merged.push_back(range);
  }
  ranges_ = std::move(merged);
  size_ = 0;
  for (const Range& range : ranges_) size_ += range.high - range.low + 1;
  TRITOGEN_CHECK(size_ >= 0);
}

}  // namespace tritogen::synth
