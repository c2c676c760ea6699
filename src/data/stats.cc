#include "data/stats.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <numeric>
#include <set>

#include "base/python_tokens.h"
#include "base/text.h"

namespace tritogen::data {
namespace {

using Json = nlohmann::ordered_json;
using Counts = std::map<std::string, int64_t>;

// The sizes in "float32[128, 256]".
std::vector<int64_t> SizesOf(const std::string& shape) {
  std::vector<int64_t> sizes;
  const size_t open = shape.find('[');
  for (size_t i = open == std::string::npos ? shape.size() : open; i < shape.size(); ++i) {
    if (shape[i] < '0' || shape[i] > '9') continue;
    int64_t size = 0;
    for (; i < shape.size() && shape[i] >= '0' && shape[i] <= '9' && size < int64_t{1} << 40; ++i)
      size = 10 * size + (shape[i] - '0');
    sizes.push_back(size);
  }
  return sizes;
}

int64_t TokenCount(std::string_view source) {
  const std::vector<PythonToken> tokens = PythonTokens(source);
  return std::count_if(tokens.begin(), tokens.end(), [](const PythonToken& token) {
    return token.text.find_first_not_of(" \t\r\n") != std::string_view::npos;
  });
}

Json LengthsOf(std::vector<int64_t> values) {
  constexpr size_t kBins = 24;
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  auto at = [&](double share) { return values[static_cast<size_t>(share * (values.size() - 1) + 0.5)]; };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  // A few that are very long must not flatten the rest: the last bin takes them.
  const int64_t low = values.front(), high = std::max(at(0.99), low + 1);
  const int64_t step = std::max<int64_t>(1, (high - low + kBins - 1) / kBins);
  Json histogram = Json::array();
  for (int64_t from = low; from <= high; from += step) {
    const bool last = from + step > high;
    const auto first = std::lower_bound(values.begin(), values.end(), from);
    const auto past = last ? values.end() : std::lower_bound(values.begin(), values.end(), from + step);
    histogram.push_back({from, last ? values.back() + 1 : from + step, past - first});
  }
  return {{"least", values.front()}, {"q1", at(0.25)},
          {"median", at(0.5)},       {"q3", at(0.75)},
          {"most", values.back()},   {"mean", sum / static_cast<double>(values.size())},
          {"histogram", histogram}};
}

// Without what tells answers of one strategy apart: "tiles 64x64x32" → "tiles", "NAME #3, rewritten" →
// "NAME".
std::string StrategyOf(std::string_view text) {
  text = text.substr(0, text.find_first_of("=,;(#"));
  for (size_t blank = text.find(' '); blank != std::string_view::npos; blank = text.find(' ', blank + 1)) {
    if (blank + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[blank + 1])))
      text = text.substr(0, blank);
  }
  return std::string(Trimmed(text));
}

class Collector {
 public:
  void Add(const Record& r) {
    ++splits_[r.split];
    ++levels_[r.level];
    ++strategies_[StrategyOf(r.strategy)];
    ++teachers_[r.teacher];
    for (const std::string& op : std::set<std::string>(r.ops.begin(), r.ops.end())) ++operators_[op];
    int64_t largest = 1;
    for (const auto* shapes : {&r.inputs, &r.outputs}) {
      for (const std::string& shape : *shapes) {
        int64_t elements = 1;
        const std::vector<int64_t> sizes = SizesOf(shape);
        for (int64_t size : sizes) elements *= std::max<int64_t>(1, std::min<int64_t>(size, 1 << 20));
        largest = std::max(largest, elements);
        if (shapes == &r.inputs) ++ranks_[static_cast<int64_t>(sizes.size())];
      }
    }
    ++elements_[std::bit_width(static_cast<uint64_t>(largest)) - 1];
    lengths_["reference"].push_back(static_cast<int64_t>(r.reference.size()));
    lengths_["plan"].push_back(static_cast<int64_t>(r.plan.size()));
    lengths_["thoughts"].push_back(static_cast<int64_t>(r.thoughts.size()));
    lengths_["source"].push_back(static_cast<int64_t>(r.source.size()));
    lengths_["source_tokens"].push_back(TokenCount(r.source));
  }

  void WriteTo(Json* json) {
    (*json)["splits"] = splits_;
    (*json)["levels"] = Numbered(levels_);
    (*json)["operators"] = operators_;
    (*json)["strategies"] = strategies_;
    (*json)["teachers"] = teachers_;
    (*json)["ranks"] = Numbered(ranks_);
    (*json)["elements"] = Numbered(elements_);
    Json lengths = Json::object();
    for (auto& [name, values] : lengths_) {
      if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v > 0; }))
        lengths[name] = LengthsOf(std::move(values));
    }
    (*json)["lengths"] = std::move(lengths);
  }

 private:
  static Json Numbered(const std::map<int64_t, int64_t>& counts) {
    Json json = Json::object();
    for (const auto& [number, count] : counts) json[std::to_string(number)] = count;
    return json;
  }

  Counts splits_, operators_, strategies_, teachers_;
  std::map<int64_t, int64_t> levels_, ranks_, elements_;
  std::map<std::string, std::vector<int64_t>> lengths_;
};

}  // namespace

Json StatsOf(const std::filesystem::path& folder, const Manifest& manifest) {
  const Tally tally = manifest.tally();
  Json stats = {{"set", SetHash(manifest.config)},
                {"records", tally.records},
                {"programs", tally.programs},
                {"shards", manifest.shards.size()}};
  int64_t bytes = 0;
  Collector collector;
  for (const ShardInfo& shard : manifest.shards) {
    bytes += shard.records.bytes;
    for (const Record& record : ReadRecords(folder / ShardName(shard.index), shard.records))
      collector.Add(record);
  }
  stats["bytes"] = bytes;
  collector.WriteTo(&stats);
  stats["tally"] = ToJson(tally);
  return stats;
}

}  // namespace tritogen::data
