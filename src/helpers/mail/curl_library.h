// The functions of libcurl, which is opened at run time: no other command pays for its loading, and a machine
// without it has all but mail by SMTP and web hooks. MINKE_HAS_CURL says whether its header was there at the
// build. One thread.
#pragma once

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#include <dlfcn.h>

#include <type_traits>
#define MINKE_HAS_CURL 1

namespace minke::helpers {

struct CurlLibrary {
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) get = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;

  // Returns whether it is there. It stays loaded.
  bool load() {
    void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = ::dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto one = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    return one(init, "curl_easy_init") && one(set, "curl_easy_setopt") && one(perform, "curl_easy_perform") &&
           one(get, "curl_easy_getinfo") && one(cleanup, "curl_easy_cleanup") &&
           one(append, "curl_slist_append") && one(free_list, "curl_slist_free_all");
  }
};

}  // namespace minke::helpers

#endif
