// SHA-256 (FIPS 180-4), for content hashes that name Plans, kernels and cache entries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tritogen {

class Sha256 {
 public:
  // kInstructions: those that processors have for it, some six times as fast. Where they lack them, kPlain.
  enum class Way { kPlain, kInstructions };
  explicit Sha256(Way way = Way::kInstructions);

  void Update(std::string_view bytes);
  std::array<uint8_t, 32> Digest();  // ends the message; the object is spent

 private:
  using Block = void (*)(uint32_t* state, const uint8_t* block);

  Block block_;
  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  uint64_t bytes_ = 0;
};

std::string Sha256Hex(std::string_view bytes);  // 64 lower-case digits
uint64_t Sha256Word(std::string_view bytes);    // its first 64 bits, for seeds: the same on every machine

}  // namespace tritogen
