#include "propose/chat_reply.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr int kDeepest = 32;
constexpr size_t kShown = 120;

// Well-formed UTF-8: each byte that cannot stand where it does becomes U+FFFD.
std::string Repaired(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const unsigned char lead = text[0];
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const std::string_view character = text.substr(0, length);
    const bool good = character.size() == length && IsUtf8(character);
    result += good ? character : "\xef\xbf\xbd";
    text.remove_prefix(good ? length : 1);
  }
  return result;
}

// Null for what is no JSON object, or one too deep.
json ParseObject(std::string_view text) {
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) throw FormatError("too deep");
    return true;
  };
  try {
    json object = json::parse(IsUtf8(text) ? std::string(text) : Repaired(text), shallow, true);
    return object.is_object() ? object : json();
  } catch (const std::exception&) {  // nlohmann's, or too deep
    return {};
  }
}

const json* Member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string TextOf(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

// A text, or a list of parts that have one.
std::string ContentOf(const json* content) {
  if (content == nullptr || !content->is_array()) return TextOf(content);
  std::string text;
  for (const json& part : *content) text += TextOf(Member(part, "text"));
  return text;
}

std::optional<int64_t> CountOf(const json& usage, const char* key) {
  const json* value = Member(usage, key);
  if (value == nullptr || !value->is_number_unsigned() || *value > (uint64_t{1} << 40)) return std::nullopt;
  return value->get<int64_t>();
}

std::string FirstLine(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return PrintableText(text.substr(0, text.find_first_of("\r\n")), kShown);
}

// {"error": "…"}, {"error": {"message": "…"}}, {"message": "…"}, {"detail": "…"}
std::string ErrorIn(const json& object) {
  if (const json* error = Member(object, "error")) {
    const std::string text = error->is_object() ? TextOf(Member(*error, "message")) : TextOf(error);
    return text.empty() ? "an error without a message" : text;
  }
  for (const char* key : {"message", "detail"}) {
    if (const std::string text = TextOf(Member(object, key)); !text.empty()) return text;
  }
  return "";
}

}  // namespace

ReplyReader::ReplyReader(const ReplyLimits& limits)
    : limits_(limits), events_([this](std::string_view data) { return Event(data); }, limits.event_bytes) {}

bool ReplyReader::Fail(std::string message, bool may_help_to_retry) {
  if (!bad_) bad_ = BadReply{std::move(message), may_help_to_retry};
  return false;
}

bool ReplyReader::Feed(std::string_view bytes) {
  if (bad_) return false;
  bytes_ += bytes.size();
  if (bytes_ > limits_.body_bytes)
    return Fail(fmt::format("its answer is longer than {} bytes", limits_.body_bytes));
  if (form_ == Form::kUnknown) {  // the first characters say, not the content type, which is often wrong
    body_ += bytes;
    const size_t first = body_.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (first == std::string::npos) return body_.size() < limits_.event_bytes || Fail("its answer is blank");
    const std::string_view known = std::string_view(body_).substr(first);
    constexpr std::string_view kFields[] = {"data", ":", "event", "id", "retry"};
    const bool field = std::any_of(std::begin(kFields), std::end(kFields), [&](std::string_view name) {
      return known.substr(0, name.size()) == name.substr(0, known.size());
    });
    if (field && known.size() < 5 && known[0] != ':') return true;  // may become one
    form_ = known[0] == '{' ? Form::kObject : field ? Form::kEvents : Form::kNeither;
    if (form_ == Form::kEvents) {
      const std::string start = std::move(body_);
      body_.clear();
      return events_.Feed(start) || (events_.too_long() && Fail("an event of its stream is too long"));
    }
  } else if (form_ == Form::kEvents) {
    return events_.Feed(bytes) || (events_.too_long() && Fail("an event of its stream is too long"));
  } else {
    body_ += bytes;
  }
  const size_t limit = form_ == Form::kObject ? limits_.json_bytes : 4 * kShown;
  if (body_.size() <= limit) return true;
  if (form_ == Form::kObject) return Fail(fmt::format("its answer is longer than {} bytes", limit));
  return false;  // enough to say what it is
}

bool ReplyReader::Event(std::string_view data) {
  if (data == "[DONE]") {
    finished_ = true;
    return false;
  }
  const json object = ParseObject(data);
  if (object.is_null() && ending_) return Fail("its stream broke off in the middle", true);
  if (object.is_null())
    return Fail(fmt::format("an event of its stream is no JSON object: {}", FirstLine(data)));
  return Take(object);
}

bool ReplyReader::Take(const json& object) {
  if (Member(object, "error") != nullptr)
    return Fail(fmt::format("it reports: {}", PrintableText(ErrorIn(object), 300)), true);
  if (const json* usage = Member(object, "usage")) {
    if (auto count = CountOf(*usage, "prompt_tokens")) reply_.prompt_tokens = count;
    if (auto count = CountOf(*usage, "completion_tokens")) reply_.completion_tokens = count;
  }
  const json* choices = Member(object, "choices");
  if (choices == nullptr || !choices->is_array()) return true;
  for (const json& choice : *choices) {
    const json* index = Member(choice, "index");
    if (index != nullptr && *index != 0) continue;  // only one was asked for
    for (const char* key : {"delta", "message"}) {
      if (const json* message = Member(choice, key)) TakeMessage(*message);
    }
    if (const std::string reason = TextOf(Member(choice, "finish_reason")); !reason.empty())
      reply_.finish_reason = PrintableText(reason, 40);
  }
  if (reply_.content.size() + reply_.reasoning.size() > limits_.text_bytes)
    return Fail(fmt::format("it wrote more than {} bytes", limits_.text_bytes));
  return true;
}

void ReplyReader::TakeMessage(const json& message) {
  any_choice_ = true;
  reply_.content += ContentOf(Member(message, "content"));
  for (const char* key : {"reasoning_content", "reasoning"}) {
    const std::string text = TextOf(Member(message, key));
    reply_.reasoning += text;
    if (!text.empty()) break;  // some endpoints say it under both names
  }
}

std::variant<ChatReply, BadReply> ReplyReader::Finish(bool whole) {
  if (form_ == Form::kUnknown && !body_.empty() && !bad_) form_ = Form::kNeither;
  if (form_ == Form::kEvents && !bad_) {
    ending_ = true;  // what is left may be half an event
    if (!finished_) events_.End();
    // Not every endpoint says [DONE]; a finish reason is an end, too.
    if (!finished_ && reply_.finish_reason.empty())
      Fail(any_choice_ ? "its stream broke off in the middle" : "its stream ended without an answer", true);
  } else if (form_ == Form::kObject && !bad_) {
    const json object = whole ? ParseObject(body_) : json();
    if (!whole) {
      Fail("its answer broke off in the middle", true);
    } else if (object.is_null()) {
      Fail(fmt::format("its answer is no valid JSON: {}", FirstLine(body_)));
    } else {
      Take(object);
    }
  } else if (form_ == Form::kNeither) {
    Fail(fmt::format("its answer is no chat completion; it begins: {}", FirstLine(body_)));
  } else if (form_ == Form::kUnknown) {
    Fail("its answer is empty", true);
  }
  if (!bad_ && !any_choice_) Fail("its answer has no choices");
  if (bad_) return *bad_;
  return std::move(reply_);
}

std::string RefusalText(std::string_view body) {
  const json object = ParseObject(body);
  const std::string text = object.is_null() ? FirstLine(body) : ErrorIn(object);
  return PrintableText(text, 300);
}

}  // namespace tritogen
