#include "text/stream_decoder.h"

#include <utility>

#include "base/utf8.h"

namespace tritogen {
namespace {

// Bytes at the end of text that begin a character and lack its rest.
size_t UnfinishedBytes(std::string_view text) {
  for (size_t bytes = std::min<size_t>(3, text.size()); bytes > 0; --bytes) {
    const std::string_view tail = text.substr(text.size() - bytes);
    const auto first = static_cast<unsigned char>(tail[0]);
    if (first < 0xc2 || first > 0xf4 || Utf8CharacterBytes(tail) != 0) continue;
    const size_t wanted = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (bytes < wanted && Utf8MalformedBytes(tail) == bytes) return bytes;
  }
  return 0;
}

}  // namespace

std::string StreamDecoder::Add(TokenId id) {
  if (skip_special_ && tokenizer_.IsSpecial(id)) return "";
  waiting_ += tokenizer_.TokenBytes(id);
  const size_t whole = waiting_.size() - UnfinishedBytes(waiting_);
  std::string out = ReplaceMalformedUtf8(std::string_view(waiting_).substr(0, whole));
  waiting_.erase(0, whole);
  return out;
}

std::string StreamDecoder::Finish() {
  return ReplaceMalformedUtf8(std::exchange(waiting_, ""));
}

}  // namespace tritogen
