// Verdicts of candidates that were never replayed.
#include "verify/verifier.h"

namespace tritogen {

Verdict VerdictUnder(const VerifyOptions& options) {
  return {.fp32_precision = options.fp32_precision, .seed = options.seed};
}

Verdict VerdictOf(const RecordFailure& failure, const VerifyOptions& options) {
  using Kind = RecordFailure::Kind;
  Verdict verdict = VerdictUnder(options);
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
  if (failure.line > 0) verdict.evidence["line"] = failure.line;
  if (!failure.trace.empty()) verdict.evidence["trace"] = failure.trace;
  return verdict;
}

}  // namespace tritogen
