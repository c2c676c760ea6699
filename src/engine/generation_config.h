// How a model's makers mean it to be sampled, and what ends its texts.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/engine.h"

namespace tritogen {

// From generation_config.json, as Hugging Face's transformers writes it: temperature, top_k, top_p, min_p,
// repetition_penalty, and eos_token_id as stop tokens. Other keys are left alone (do_sample, too: who wants
// the most probable token asks for temperature 0). Throws FormatError for values that cannot be.
GenerateOptions ParseGenerationConfig(std::string_view json_text);
// Of a model folder: what there is without the file. UserError naming the file.
GenerateOptions LoadGenerationConfig(const std::filesystem::path& folder);

}  // namespace tritogen
