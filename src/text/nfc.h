// Unicode normalisation form C, as the normaliser "NFC" of Hugging Face's tokenizers does it: with the marks
// and compositions of its older Unicode (unicode_additions.h).
#pragma once

#include <string>
#include <string_view>

namespace tritogen {

// REQUIRES: text is UTF-8. `*scratch` holds the result unless the text is in the form already, which is the
// usual case and costs one pass; then the result is `text` itself.
std::string_view Nfc(std::string_view text, std::string* scratch);

}  // namespace tritogen
