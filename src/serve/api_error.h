// A request that is refused, in the words of OpenAI's error objects.
#pragma once

#include <string>

#include "base/error.h"

namespace tritogen::serve {

class ApiError : public FormatError {
 public:
  // `param`: the part of the body that is wrong, "" when it is none; `code`: a word for programs, or "".
  ApiError(int status, const std::string& message, std::string param = "", std::string code = "")
      : FormatError(message), status_(status), param_(std::move(param)), code_(std::move(code)) {}

  int status() const { return status_; }  // of HTTP
  const std::string& param() const { return param_; }
  const std::string& code() const { return code_; }

  // {"error": {"message", "type", "param", "code"}}
  std::string Body() const;

 private:
  int status_;
  std::string param_, code_;
};

ApiError NoSuchModel();  // 404

}  // namespace tritogen::serve
