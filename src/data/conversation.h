// Records as training frameworks read them.
#pragma once

#include <nlohmann/json.hpp>

#include "data/record.h"

namespace tritogen::data {

// TRL's conversational form: {"messages": [{"role": "system", …}, {"role": "user", …}, {"role": "assistant",
// …}]}, and beside it what the record is: id, split, level, ops.
nlohmann::ordered_json Conversation(const Record& record);

// verl's form: prompt (system and user), data_source, ability, reward_model.ground_truth (the reference file,
// which a verifier judges against), extra_info (the answer among it).
nlohmann::ordered_json VerlRow(const Record& record, int64_t index);

}  // namespace tritogen::data
