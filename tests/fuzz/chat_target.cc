// Any bytes are a reply or a sentence, however they are cut; and how they are cut makes no difference.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "propose/chat_reply.h"

namespace {

std::string Outcome(std::string_view bytes, size_t piece) {
  tritogen::ReplyReader reader;
  bool going = true;
  for (size_t at = 0; going && at < bytes.size(); at += piece) going = reader.Feed(bytes.substr(at, piece));
  const auto result = reader.Finish(true);
  const auto* reply = std::get_if<tritogen::ChatReply>(&result);
  if (reply == nullptr) return "bad";
  return reply->content + '\1' + reply->reasoning + '\1' + reply->finish_reason;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = Outcome(bytes, size + 1);
  for (size_t piece : {1, 3, 100}) {
    if (Outcome(bytes, piece) == whole) continue;
    std::fprintf(stderr, "pieces of %zu bytes give another reply\n", piece);
    std::abort();
  }
  if (!tritogen::IsUtf8(whole) || !tritogen::IsUtf8(tritogen::RefusalText(bytes))) std::abort();
  return 0;
}
