#include "image/curl_library.h"

#include <dlfcn.h>

namespace cove::image {
namespace {

// Debian's libcurl with OpenSSL, which other systems have under the same name, and the one with GnuTLS, which git uses.
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

Failure missing(const std::string& why) {
  return fail(Errc::unsupported,
              "images are fetched from registries with libcurl, which cannot be loaded (" + why +
                  "): install the package libcurl4 (Debian, Ubuntu, openSUSE) or libcurl (Fedora, Arch), or bring the "
                  "image as a file: 'cove image load FILE'");
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, CurlLibrary& curl) {
  return find(library, "curl_global_init", curl.global_init) && find(library, "curl_easy_init", curl.easy_init) &&
         find(library, "curl_easy_reset", curl.easy_reset) && find(library, "curl_easy_setopt", curl.easy_setopt) &&
         find(library, "curl_easy_perform", curl.easy_perform) &&
         find(library, "curl_easy_strerror", curl.easy_strerror) &&
         find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         find(library, "curl_slist_append", curl.slist_append) &&
         find(library, "curl_slist_free_all", curl.slist_free_all) && find(library, "curl_url", curl.url) &&
         find(library, "curl_url_set", curl.url_set) && find(library, "curl_url_get", curl.url_get) &&
         find(library, "curl_url_cleanup", curl.url_cleanup) && find(library, "curl_free", curl.free);
}

Result<const CurlLibrary*> load() {
  static CurlLibrary curl;
  std::string why;
  for (const char* name : kNames) {
    // Never closed: it may have started threads and handlers of its own.
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (why.empty()) why = dlerror();
      continue;
    }
    if (!find_all(library, curl)) return missing(std::string(name) + " is older than 7.62");
    if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return missing(std::string(name) + " does not start");
    return &curl;
  }
  return missing(why);
}

}  // namespace

Result<const CurlLibrary*> curl_library() {
  static const Result<const CurlLibrary*> loaded = load();
  return loaded;
}

}  // namespace cove::image
