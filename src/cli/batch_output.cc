#include "cli/batch_output.h"

#include <iostream>

#include "base/error.h"
#include "verify/verdict.h"

namespace tritogen {

void BatchOutput::Write(const std::string& id, const nlohmann::json& verdict) {
  nlohmann::json object = {{"id", id}};
  object.update(verdict);
  const std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (file_.is_open()) return file_.Write(line);
  if (!(std::cout << line << std::flush))
    throw UserError("verdicts cannot be written: nobody reads them, or the disk is full");
}

nlohmann::json BadLine(const std::string& fault) {
  Verdict verdict;
  verdict.rule = "batch_line";
  verdict.reason = fault;
  return verdict.ToJson();
}

}  // namespace tritogen
