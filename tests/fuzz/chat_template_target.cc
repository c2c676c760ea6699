// A chat template: refused, or text.
#include <cstdint>

#include "base/error.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  static const auto messages = jinja::Value::parse(
      R"([{"role":"system","content":"s"},{"role":"user","content":"ü <think>a</think> b"},
          {"role":"assistant","content":"x","tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,null]}}}]}])");
  try {
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    ChatTemplate(source).Render(messages, {true, {{"tools", {{{"name", "t"}}}}}});
  } catch (const FormatError&) {
  }
  return 0;
}
