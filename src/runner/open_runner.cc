#include "runner/open_runner.h"

#include "base/error.h"

namespace tritogen {

std::unique_ptr<Runner> OpenRunner(const std::filesystem::path& folder, const RunnerOptions& options) {
  throw UserError("this program has no runner yet");
}

}  // namespace tritogen
