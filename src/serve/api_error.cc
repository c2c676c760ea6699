#include "serve/api_error.h"

#include <nlohmann/json.hpp>

namespace tritogen::serve {
namespace {

const char* Type(int status) {
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

std::string ApiError::Body() const {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  const nlohmann::ordered_json body = {{"error",
                                        {{"message", what()},
                                         {"type", Type(status_)},
                                         {"param", text_or_null(param_)},
                                         {"code", text_or_null(code_)}}}};
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApiError NoSuchModel() {
  return ApiError(404, "there is no model of this name here; GET /v1/models names the one there is", "model",
                  "model_not_found");
}

}  // namespace tritogen::serve
