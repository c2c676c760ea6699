// libcurl, loaded at run time: the program starts without it, and says so where something has to be fetched.
// <curl/curl.h> gives types only; nothing is linked. The library's interface has been stable since 2006
// (libcurl.so.4), so that the binary works with whichever version is installed.
#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <memory>
#include <string>

namespace tritogen {

#define TRITOGEN_CURL_FUNCTIONS(X)                                                                          \
  X(curl_global_init)                                                                                       \
  X(curl_easy_init)                                                                                         \
  X(curl_easy_setopt)                                                                                       \
  X(curl_easy_getinfo)                                                                                      \
  X(curl_easy_cleanup)                                                                                      \
  X(curl_easy_strerror)                                                                                     \
  X(curl_multi_init)                                                                                        \
  X(curl_multi_add_handle) X(curl_multi_remove_handle) X(curl_multi_perform) X(curl_multi_poll)             \
      X(curl_multi_info_read) X(curl_multi_cleanup) X(curl_slist_append) X(curl_slist_free_all) X(curl_url) \
          X(curl_url_set) X(curl_url_get) X(curl_url_cleanup) X(curl_free)

class Curl {
 public:
  // The table, loaded and initialised once per process; throws UserError where there is no libcurl, or one
  // older than 7.66. Thread-safe.
  static const Curl& Load();

#define X(function) decltype(&::function) function = nullptr;
  TRITOGEN_CURL_FUNCTIONS(X)
#undef X

 private:
  Curl() = default;
};

// Owners of what libcurl gives.
struct CurlDeleter {
  void operator()(CURL* easy) const { Curl::Load().curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const { Curl::Load().curl_slist_free_all(list); }
};
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;
using CurlList = std::unique_ptr<curl_slist, CurlDeleter>;
struct CurlMultiDeleter {
  void operator()(CURLM* multi) const { Curl::Load().curl_multi_cleanup(multi); }
};
using CurlMulti = std::unique_ptr<CURLM, CurlMultiDeleter>;

// The address of an endpoint's chat completions: "https://host/v1" gets "/chat/completions" unless it ends
// so. Throws UserError for anything that is no plain http or https address: no user, no password, no query.
std::string ChatAddress(const std::string& url);

}  // namespace tritogen
