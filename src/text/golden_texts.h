// For tests and benchmarks: the texts of tests/golden/tokenizers, made as in tools/make_tokenizer_golden.py.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/splitmix.h"
#include "base/utf8.h"
#include "text/bpe.h"

namespace tritogen::golden {

inline std::string Path(const std::string& name) {
  return std::string(TRITOGEN_SOURCE_DIR) + "/tests/golden/tokenizers/" + name;
}

inline std::vector<std::string> Fragments() {
  return ParseJson(ReadFile(Path("fragments.json"))).get<std::vector<std::string>>();
}

inline std::string MakeText(const std::vector<std::string>& fragments, uint64_t stream, uint64_t index) {
  const uint64_t seed = SplitMix::At(stream, index);
  std::string text;
  for (uint64_t i = 0; i < 1 + seed % 14; ++i) {
    const uint64_t number = SplitMix::At(seed, i), choice = number & 15, value = number >> 4;
    if (choice > 1) {
      text += fragments[value % fragments.size()];
    } else {
      const uint64_t c = value % (choice == 0 ? 0x10f800 : 0xf800);
      AppendUtf8(static_cast<char32_t>(c < 0xd800 ? c : c + 0x800), &text);
    }
  }
  return text;
}

inline uint32_t Fnv(std::string_view bytes) {
  uint32_t hash = 0x811c9dc5;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x01000193;
  return hash;
}

inline uint32_t HashIds(std::span<const TokenId> ids) {
  return Fnv({reinterpret_cast<const char*>(ids.data()), ids.size_bytes()});
}

inline std::vector<uint32_t> Hashes(const std::string& name) {
  const std::string bytes = ReadFile(Path(name + ".hashes"));
  std::vector<uint32_t> hashes(bytes.size() / 4);
  std::memcpy(hashes.data(), bytes.data(), 4 * hashes.size());
  return hashes;
}

inline std::vector<TokenId> IdSequence(uint64_t seed, uint64_t count) {
  std::vector<TokenId> ids;
  for (uint64_t i = 0; i < 1 + SplitMix::At(78, seed) % 12; ++i) {
    ids.push_back(static_cast<TokenId>(SplitMix::At(SplitMix::At(77, seed), i) % count));
  }
  return ids;
}

}  // namespace tritogen::golden
