// Three kinds of failure, three mechanisms:
//   a bug of ours        TRITOGEN_CHECK(condition): throws InternalError, which says where and what
//   wrong use or set-up  UserError, caught once in main: what happened, where, what to do
//   an expected outcome  a value (Verdict, RecordFailure, Fault), never an exception
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tritogen {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Data from outside (TTIR, Plan, frame) that breaks its format. Readers turn it into a verdict.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void FailCheck(const char* file, int line, const char* what) {
  throw InternalError(fmt::format("{}:{}: check failed: {}", file, line, what));
}

#define TRITOGEN_CHECK(condition) \
  ((condition) ? void(0) : ::tritogen::FailCheck(__FILE__, __LINE__, #condition))

}  // namespace tritogen
