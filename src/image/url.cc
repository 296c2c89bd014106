#include "image/url.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "image/curl_library.h"

namespace cove::image {
namespace {

// An address taken apart by libcurl, which is the one to connect there, too.
class Parsed {
 public:
  explicit Parsed(const CurlLibrary& curl) : curl_(curl), url_(curl.url(), curl.url_cleanup) {}

  bool set(const std::string& text, unsigned flags) {
    return url_ && curl_.url_set(url_.get(), CURLUPART_URL, text.c_str(), flags) == CURLUE_OK;
  }
  std::string part(CURLUPart which, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_.url_get(url_.get(), which, &text, flags) != CURLUE_OK || text == nullptr) return "";
    std::string copy(text);
    curl_.free(text);
    return copy;
  }

 private:
  const CurlLibrary& curl_;
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url_;
};

}  // namespace

bool Url::loopback() const {
  if (host == "localhost" || host == "[::1]") return true;
  // Four numbers: 127.evil.example is a name.
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

Result<Url> parse_url(const std::string& text, const std::string& base) {
  COVE_TRY(const CurlLibrary* const curl, curl_library());
  Parsed parsed(*curl);
  const bool clean = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  const bool fits =
      clean && text.size() < 16384 && (base.empty() || parsed.set(base, 0)) && parsed.set(text, CURLU_DISALLOW_USER);
  if (!fits) return fail(Errc::protocol, "a server named an address that is none");
  Url url;
  url.scheme = parsed.part(CURLUPART_SCHEME);
  url.host = parsed.part(CURLUPART_HOST);
  url.port = parsed.part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  url.text = parsed.part(CURLUPART_URL);
  for (char& c : url.host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if ((url.scheme != "https" && url.scheme != "http") || url.host.empty() || !parsed.part(CURLUPART_USER).empty()) {
    return fail(Errc::protocol, "a server named an address that is neither http nor https");
  }
  return url;
}

bool PlainHosts::allows(const Url& url) const {
  const auto names = [&](const std::string& entry) { return entry == url.host || entry == url.host + ":" + url.port; };
  return url.loopback() || std::any_of(listed.begin(), listed.end(), names);
}

Result<void> PlainHosts::check(const Url& url) const {
  if (url.scheme == "https" || allows(url)) return {};
  return fail(Errc::denied, url.shown() + " is not encrypted: if it is to be trusted, name " + url.host + ":" +
                                url.port + " in COVE_INSECURE_REGISTRIES");
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string coded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != kPlain.npos) {
      coded += c;
    } else {
      coded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return coded;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string shown(text.substr(0, kMost));
  for (char& c : shown) c = c < ' ' || c > '~' ? '?' : c;
  return shown;
}

}  // namespace cove::image
