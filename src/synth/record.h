// A sampled program as one line of JSON; docs/formats/synth.md has the fields.
#pragma once

#include <nlohmann/json.hpp>

#include "synth/sampler.h"

namespace tritogen::synth {

nlohmann::ordered_json ToJson(const Sample& sample);

}  // namespace tritogen::synth
