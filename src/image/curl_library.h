#pragma once

// libcurl, loaded when the first request is made and not when the program starts: only registries need it, so that
// `cove image load`, `import`, `save` and `ls` work on a machine without it.
//
// Rejected: to link libcurl.a, because Debian builds it with krb5, LDAP and RTMP, which have no static libraries; and
// an own HTTP client, which would have to find the machine's authorities, proxies and name services by itself.

#include <curl/curl.h>

#include "base/error.h"

namespace cove::image {

// The functions of libcurl that are used here, by their own names without `curl_`.
struct CurlLibrary {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_set) url_set;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_free) free;
};

// Loads it on the first call, from any thread, and keeps it. Error: unsupported, with the packages that have it.
Result<const CurlLibrary*> curl_library();

}  // namespace cove::image
