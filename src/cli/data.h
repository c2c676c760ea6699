// The subcommands of `data`, one file each.
#pragma once

#include "cli/command.h"

namespace tritogen {

int RunDataBuild(int argc, char** argv, const Environment& environment);
int RunDataStats(int argc, char** argv, const Environment& environment);
int RunDataShow(int argc, char** argv, const Environment& environment);
int RunDataExport(int argc, char** argv, const Environment& environment);
int RunDataVerify(int argc, char** argv, const Environment& environment);
int RunDataFingerprints(int argc, char** argv, const Environment& environment);

}  // namespace tritogen
