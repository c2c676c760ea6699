#include "propose/curl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {

const Curl& Curl::Load() {
  static const Curl* loaded = [] {
    void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);  // never closed
    if (library == nullptr) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw UserError("a remote model needs libcurl, which is not installed here: apt-get install libcurl4");
    auto* curl = new Curl;
#define X(function)                                                                       \
  curl->function = reinterpret_cast<decltype(curl->function)>(dlsym(library, #function)); \
  if (curl->function == nullptr)                                                          \
    throw UserError("a remote model needs libcurl 7.66 or later; the installed one lacks " #function);
    TRITOGEN_CURL_FUNCTIONS(X)
#undef X
    if (curl->curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      throw InternalError("libcurl does not start");
    return curl;
  }();
  return *loaded;
}

std::string ChatAddress(const std::string& url) {
  const Curl& curl = Curl::Load();
  const auto close = [&](CURLU* parsed) { curl.curl_url_cleanup(parsed); };
  const std::unique_ptr<CURLU, decltype(close)> parsed(curl.curl_url(), close);
  const auto fail = [](const char* what) {
    throw UserError(fmt::format("address of a remote model: {}", what));
  };
  const auto part = [&](CURLUPart which) -> std::optional<std::string> {
    char* text = nullptr;
    if (curl.curl_url_get(parsed.get(), which, &text, 0) != CURLUE_OK) return std::nullopt;
    std::string result = text;
    curl.curl_free(text);
    return result;
  };
  if (url.find_first_of(" \t\r\n") != std::string::npos ||
      curl.curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    throw UserError(fmt::format("'{}' is no address of a remote model; one looks like https://host/v1",
                                PrintableText(url.substr(0, url.find('@')), 200)));
  const auto scheme = part(CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") fail("it must begin with http:// or https://");
  if (part(CURLUPART_USER) || part(CURLUPART_PASSWORD))
    fail("it holds a user or a password; a key belongs into an environment variable (--key-variable)");
  if (part(CURLUPART_QUERY) || part(CURLUPART_FRAGMENT)) fail("it must not have a '?' or a '#'");
  std::string address = url;
  while (address.ends_with('/')) address.pop_back();
  return address.ends_with("/chat/completions") ? address : address + "/chat/completions";
}

}  // namespace tritogen
