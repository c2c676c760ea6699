#include "model/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;  // as the original library
constexpr size_t kMaxRank = 16, kMaxName = 4096;

// In the order of enum Dtype.
constexpr std::array<std::string_view, kDtypeCount> kNames = {
    "BOOL",    "U8",      "I8",  "I16",  "I32", "I64", "U16", "U32", "U64",
    "F8_E4M3", "F8_E5M2", "F16", "BF16", "F32", "F64", "C64", "C128"};

std::optional<Dtype> DtypeFromTag(std::string_view tag) {
  const auto found = std::find(kNames.begin(), kNames.end(), tag);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Dtype>(found - kNames.begin());
}

std::string_view HeaderText(std::string_view file) {
  if (file.size() < 8) throw FormatError(fmt::format("{} bytes are no safetensors file", file.size()));
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  if (length > kMaxHeader || length > file.size() - 8) {
    throw FormatError(fmt::format("a header of {} bytes in a file of {}: truncated, or no safetensors file",
                                  length, file.size()));
  }
  const std::string_view header = file.substr(8, length);
  if (!header.starts_with('{')) throw FormatError("the header does not begin with '{'");
  return header;
}

struct Range {
  uint64_t begin, end;
  std::string_view name;
};

TensorView ParseTensor(const JsonCursor& entry, std::string_view data, Range* range) {
  entry.ExpectKeys({"dtype", "shape", "data_offsets"});
  const std::string tag = entry["dtype"].String(100);
  const auto dtype = DtypeFromTag(tag);
  if (!dtype)
    entry["dtype"].Fail(fmt::format("'{}' is no element type that is supported", PrintableText(tag, 40)));
  TensorView tensor{*dtype, {}, {}};
  const JsonCursor shape = entry["shape"], offsets = entry["data_offsets"];
  const size_t rank = shape.Size(kMaxRank);
  for (size_t i = 0; i < rank; ++i) tensor.shape.push_back(shape[i].Int(0));
  offsets.ExpectArray(2);
  range->begin = static_cast<uint64_t>(offsets[0].Int(0));
  range->end = static_cast<uint64_t>(offsets[1].Int(0));
  if (range->begin > range->end || range->end > data.size()) {
    offsets.Fail(
        fmt::format("[{}, {}) lies outside the {} bytes of data", range->begin, range->end, data.size()));
  }
  const uint64_t bytes = TensorBytes(*dtype, tensor.shape);
  if (bytes != range->end - range->begin) {
    offsets.Fail(fmt::format("{} bytes for a {} tensor of shape [{}], which has {}",
                             range->end - range->begin, tag, fmt::join(tensor.shape, ", "), bytes));
  }
  tensor.bytes = data.substr(range->begin, bytes);
  return tensor;
}

// Together the tensors are the data: nothing twice, nothing left out.
void CheckCover(std::vector<Range> ranges, uint64_t data_bytes) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Range& range : ranges) {
    if (range.begin != at) {
      throw FormatError(fmt::format("tensor '{}' begins at byte {} of the data, where {} ends: {}",
                                    PrintableText(range.name, 100), range.begin, at,
                                    range.begin < at ? "tensors overlap" : "there is a hole"));
    }
    at = range.end;
  }
  if (at != data_bytes) {
    throw FormatError(fmt::format("the tensors end at byte {} of the data, the file has {}", at, data_bytes));
  }
}

std::string Header(const std::vector<const TensorMap::value_type*>& order,
                   const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const auto* entry : order) {
    const TensorView& tensor = entry->second;
    header[entry->first] = {{"dtype", kNames[static_cast<size_t>(tensor.dtype)]},
                            {"shape", tensor.shape},
                            {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data begin at a multiple of 8
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text;
}

}  // namespace

uint64_t TensorBytes(Dtype dtype, std::span<const int64_t> shape) {
  int64_t bytes = static_cast<int64_t>(DtypeSize(dtype));
  for (const int64_t side : shape) {
    if (side < 0 || __builtin_mul_overflow(bytes, side, &bytes)) {
      throw FormatError(fmt::format("no tensor has the shape [{}]", fmt::join(shape, ", ")));
    }
  }
  return static_cast<uint64_t>(bytes);
}

SafetensorsContents ParseSafetensors(std::string_view file) {
  const std::string_view header = HeaderText(file), data = file.substr(8 + header.size());
  const json root = ParseJson(header, DuplicateKeys::kRefuse);
  const JsonCursor cursor(root);
  cursor.ExpectObject();
  SafetensorsContents contents;
  std::vector<Range> ranges;
  for (const auto& [name, value] : root.items()) {
    const JsonCursor entry = cursor[name];
    if (name == "__metadata__") {
      entry.ExpectObject();
      for (const auto& [key, text] : value.items()) contents.metadata[key] = entry[key].String(kMaxHeader);
      continue;
    }
    if (name.empty() || name.size() > kMaxName)
      cursor.Fail("a tensor without a name, or with one of over 4096 bytes");
    Range range{0, 0, name};
    TensorView tensor = ParseTensor(entry, data, &range);
    ranges.push_back(
        {range.begin, range.end, contents.tensors.emplace(name, std::move(tensor)).first->first});
  }
  CheckCover(std::move(ranges), data.size());
  return contents;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  try {
    contents_ = ParseSafetensors(file_.bytes());
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void WriteSafetensors(const std::filesystem::path& path, const TensorMap& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorMap::value_type*> order;
  for (const auto& entry : tensors) {
    TRITOGEN_CHECK(entry.second.bytes.size() == TensorBytes(entry.second.dtype, entry.second.shape));
    TRITOGEN_CHECK(!entry.first.empty() && entry.first.size() <= kMaxName && entry.first != "__metadata__");
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return DtypeSize(a->second.dtype) > DtypeSize(b->second.dtype);
  });
  const std::string header = Header(order, metadata);
  std::vector<std::string_view> parts = {header};
  for (const auto* entry : order) parts.push_back(entry->second.bytes);
  WriteFileAtomic(path, parts);
}

}  // namespace tritogen
