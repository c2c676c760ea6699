// The stages there are; each is described where it is made.
#pragma once

#include <memory>

#include "data/stage.h"

namespace tritogen::data {

std::unique_ptr<Stage> MakeFilter();  // stage_filter.cc
std::unique_ptr<Stage> MakeDedup();   // stage_dedup.cc
std::unique_ptr<Stage> MakeAugment();
std::unique_ptr<Stage> MakeRewrite();
std::unique_ptr<Stage> MakeExplain();
std::unique_ptr<Stage> MakeDifficulty();

}  // namespace tritogen::data
