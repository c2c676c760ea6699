// A sampled program as one line of JSON; docs/formats/synth.md has the fields.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "synth/sampler.h"

namespace tritogen::synth {

// The line, with its end. The plain twin is ToJson(sample).dump().
std::string JsonLine(const Sample& sample);
nlohmann::ordered_json ToJson(const Sample& sample);

}  // namespace tritogen::synth
