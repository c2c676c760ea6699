// A file of prompts: refused as a whole, or lines each of which is a prompt or has a fault.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "engine/prompt_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  static const ChatTemplate chat("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}");
  try {
    for (const Prompt& prompt : ParsePrompts({reinterpret_cast<const char*>(data), size}, "file")) {
      TRITOGEN_CHECK(!prompt.fault.empty() || !prompt.messages.is_array() || !prompt.messages.empty());
      try {
        if (prompt.fault.empty()) chat.Render(AsChat(prompt).messages);
      } catch (const FormatError&) {
      }
    }
  } catch (const UserError&) {
  }
  return 0;
}
