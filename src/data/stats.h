// What a finished set holds: figures for people and plots.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

#include "data/manifest.h"

namespace tritogen::data {

// Reads every shard. The keys (docs/formats/data.md):
//   set, records, programs, shards, bytes, splits, levels, operators, strategies, teachers   counts of
//   records ranks, elements     of inputs: by dimensions; of the largest tensor, by the power of two below
//   lengths             reference, plan, thoughts, source in bytes, source_tokens in Python tokens: least,
//                       quartiles, most, mean, histogram of [from, to, count]
//   tally               what became of programs and answers, failures by reason (tally.h)
// Throws UserError for a shard that is not as the manifest says.
nlohmann::ordered_json StatsOf(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace tritogen::data
