#include "cli/batch_output.h"

#include <fmt/format.h>

#include <iostream>

#include "base/error.h"
#include "verify/verdict.h"

namespace tritogen {

BatchOutput::BatchOutput(const std::string& path) {
  if (path.empty()) return;
  file_.open(path, std::ios::app | std::ios::binary);
  if (!file_) throw UserError(fmt::format("cannot write to '{}'", path));
}

void BatchOutput::Write(const std::string& id, const nlohmann::json& verdict) {
  nlohmann::json object = {{"id", id}};
  object.update(verdict);
  std::ostream& out = file_.is_open() ? file_ : std::cout;
  out << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" << std::flush;
  if (!out) throw UserError("verdicts cannot be written: nobody reads them, or the disk is full");
}

nlohmann::json BadLine(const std::string& fault) {
  Verdict verdict;
  verdict.rule = "batch_line";
  verdict.reason = fault;
  return verdict.ToJson();
}

}  // namespace tritogen
