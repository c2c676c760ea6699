// The Verdict of a candidate that could not be recorded.
#include "verify/verifier.h"

namespace tritogen {

Verdict VerdictOf(const RecordFailure& failure, const VerifyOptions& options) {
  using Kind = RecordFailure::Kind;
  Verdict verdict;
  switch (failure.kind) {
    case Kind::kCompileError:
      verdict.outcome = Outcome::kCompileError;
      break;
    case Kind::kRuntimeError:
      verdict.outcome = Outcome::kRuntimeError;
      break;
    case Kind::kRejected:
      verdict.outcome = Outcome::kRejected;
      break;
    case Kind::kTimeout:
      verdict.outcome = Outcome::kTimeout;
      break;
    case Kind::kKilled:
      verdict.outcome = Outcome::kKilled;
      break;
    case Kind::kInfraError:
      verdict.outcome = Outcome::kInfraError;
      break;
  }
  verdict.reason = failure.message;
  verdict.rule = failure.rule;
  verdict.seed = options.seed;
  verdict.fp32_precision = options.fp32_precision;
  if (failure.line > 0) verdict.evidence["line"] = failure.line;
  if (!failure.trace.empty()) verdict.evidence["trace"] = failure.trace;
  return verdict;
}

}  // namespace tritogen
