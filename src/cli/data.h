// The subcommands of `data`, one file each.
#pragma once

#include "cli/command.h"
#include "data/options.h"

namespace tritogen {

int RunDataBuild(int argc, char** argv, const Environment& environment);
int RunDataStats(int argc, char** argv, const Environment& environment);
int RunDataShow(int argc, char** argv, const Environment& environment);
int RunDataExport(int argc, char** argv, const Environment& environment);
int RunDataVerify(int argc, char** argv, const Environment& environment);
int RunDataFingerprints(int argc, char** argv, const Environment& environment);

// A set's configuration. Files that it names in `avoid` are looked for from where the command runs, then in
// the checkout, whose own configurations are used from everywhere.
data::BuildOptions ReadSetConfig(const std::string& file, const Environment& environment);

}  // namespace tritogen
