// Any text is an answer or a reason why there is none, whatever form was asked for; any text is a template or
// a UserError.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "text/answer.h"
#include "text/prompt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (AnswerForm form : {AnswerForm::kClass, AnswerForm::kFunction, AnswerForm::kTag}) {
    for (bool cut_off : {false, true}) {
      const auto result = ExtractAnswer(text, {.form = form, .tag = "triton_code", .cut_off = cut_off});
      const auto* answer = std::get_if<Answer>(&result);
      if (answer != nullptr && answer->code.find("ModelNew") == std::string::npos) {
        std::fprintf(stderr, "code without the entry:\n%s", answer->code.c_str());
        std::abort();
      }
    }
  }
  try {
    const PromptTemplate prompt = ParsePrompt("fuzz", text);
    FillTemplate(prompt.user, ValuesOf(prompt, {.source = "s"}, prompt.body));
  } catch (const UserError&) {
  }
  return 0;
}
