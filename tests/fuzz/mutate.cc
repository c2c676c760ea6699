#include "mutate.h"

#include <algorithm>
#include <array>

namespace tritogen::fuzz {
namespace {

struct Range {
  size_t first = 0, size = 0;
};

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// Same class, likely the same role: a name for a name, a number for a number.
char ClassOf(std::string_view token) {
  const char c = token.empty() ? ' ' : token[0];
  if (c >= '0' && c <= '9') return '0';
  return IsWordByte(c) ? 'a' : c;
}

// The run of word bytes, with its sigil, around a random place; or the single byte there.
Range TokenAt(std::string_view text, size_t at) {
  size_t first = at, last = at;
  while (first > 0 && IsWordByte(text[first]) && IsWordByte(text[first - 1])) --first;
  while (last < text.size() && IsWordByte(text[last])) ++last;
  constexpr std::string_view kSigils = "%@^#!\"";
  if (first > 0 && last > first && kSigils.find(text[first - 1]) != std::string_view::npos) --first;
  return {first, std::max<size_t>(last - first, 1)};
}

Range LineAt(std::string_view text, size_t at) {
  const size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const size_t first = before == std::string_view::npos ? 0 : before + 1;
  const size_t end = std::min(text.find('\n', at), text.size() - 1);
  return {first, end + 1 - first};
}

class Mutator {
 public:
  Mutator(std::span<const std::string> corpus, Random& random) : corpus_(corpus), random_(random) {}

  std::string Run() {
    text_ = Donor();
    const size_t most = 1 + random_.Below(8);  // rather few, so that many inputs get deep
    for (size_t count = 1 + random_.Below(most); count > 0; --count) {
      if (text_.empty()) text_ = Donor();
      if (text_.empty()) text_ = " ";
      Step();
    }
    text_.resize(std::min(text_.size(), kMaxInputBytes));
    return std::move(text_);
  }

 private:
  const std::string& Donor() { return corpus_[random_.Below(corpus_.size())]; }
  size_t Place() { return random_.Below(text_.size()); }

  void Step() {
    switch (random_.Below(12)) {
      case 0:
        text_[Place()] ^= static_cast<char>(1 << random_.Below(8));
        return;
      case 1:
        text_[Place()] = static_cast<char>(random_.Next());
        return;
      case 2:
        text_.insert(Place(), 1, static_cast<char>(random_.Next()));
        return;
      case 3:
        text_.erase(Place(), 1 + random_.Below(32));
        return;
      case 4:
        return RepeatPiece();
      case 5:
        return ReplaceNumber();
      case 6:
        return MoveLine();
      case 7:
        return TakeLine();
      case 8:
        return Splice();
      default:
        return ReplaceToken();
    }
  }

  void RepeatPiece() {
    const size_t at = Place();
    const std::string piece = text_.substr(at, 1 + random_.Below(64));
    const size_t copies = random_.Below(16) == 0 ? 256 : 1 + random_.Below(3);
    for (size_t i = 0; i < copies && text_.size() < kMaxInputBytes; ++i) text_.insert(at, piece);
  }

  // A token gives way to one of its class, from anywhere.
  void ReplaceToken() {
    const Range old = TokenAt(text_, Place());
    const std::string_view old_text = std::string_view(text_).substr(old.first, old.size);
    const std::string& donor = random_.Below(2) == 0 ? text_ : Donor();
    if (donor.empty()) return;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Range fresh = TokenAt(donor, random_.Below(donor.size()));
      const std::string replacement = donor.substr(fresh.first, fresh.size);
      if (ClassOf(replacement) != ClassOf(old_text) || replacement == old_text) continue;
      text_.replace(old.first, old.size, replacement);
      return;
    }
  }

  void ReplaceNumber() {
    static constexpr std::array<std::string_view, 14> kNumbers = {"0",
                                                                  "1",
                                                                  "-1",
                                                                  "2",
                                                                  "3",
                                                                  "63",
                                                                  "64",
                                                                  "255",
                                                                  "1048576",
                                                                  "2147483647",
                                                                  "4294967296",
                                                                  "9223372036854775808",
                                                                  "18446744073709551616",
                                                                  "0x7FC00000"};
    const size_t digit = text_.find_first_of("0123456789", Place());
    if (digit == std::string::npos) return;
    size_t end = digit;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    text_.replace(digit, end - digit, kNumbers[random_.Below(kNumbers.size())]);
  }

  // Removes a line, or moves or copies it elsewhere.
  void MoveLine() {
    const Range line = LineAt(text_, Place());
    const std::string piece = text_.substr(line.first, line.size);
    const size_t kind = random_.Below(3);
    if (kind != 0) text_.erase(line.first, line.size);
    if (kind != 1 && !text_.empty()) text_.insert(LineAt(text_, Place()).first, piece);
  }

  void TakeLine() {
    const std::string& donor = Donor();
    if (donor.empty()) return;
    const Range line = LineAt(donor, random_.Below(donor.size()));
    text_.insert(LineAt(text_, Place()).first, donor.substr(line.first, line.size));
  }

  void Splice() {
    const std::string& donor = Donor();
    if (donor.empty()) return;
    text_.resize(Place());
    text_ += donor.substr(random_.Below(donor.size()));
  }

  std::span<const std::string> corpus_;
  Random& random_;
  std::string text_;
};

}  // namespace

uint64_t Random::Next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

size_t Random::Below(size_t bound) {
  return static_cast<size_t>(Next() % bound);
}

std::string Mutate(std::span<const std::string> corpus, Random& random) {
  return Mutator(corpus, random).Run();
}

}  // namespace tritogen::fuzz
