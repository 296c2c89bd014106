#pragma once

// HTTP(S) as a registry needs it, over libcurl.
//
// Guarantees: TLS 1.2 or later with the system's authorities ($SSL_CERT_FILE and $SSL_CERT_DIR instead, where they are
// set); plain HTTP only where PlainHosts allows it, and never after a redirect from https; the `authorization` of a
// request reaches the origin (scheme, host, port) of its url and no other; headers and bodies have limits; a transfer
// that stalls, passes its deadline or is asked to stop ends within about a second.

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "image/url.h"

namespace cove::image {

enum class Method : unsigned char { get, head, post };

struct HttpRequest {
  Method method = Method::get;
  std::string url;
  std::vector<std::string> headers;  // "Accept: ..."
  std::string authorization;         // "Basic ...", "Bearer ..."; "" for none
  std::string form;                  // the body of a post
  std::uint64_t from = 0;            // asks for a range from here on
  std::uint64_t most_bytes = std::uint64_t{1} << 20;
  Deadline deadline = Deadline::never();
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // where there is no sink, or the status is not 2xx (its beginning)

  std::string header(const std::string& name) const;
  bool good() const { return status >= 200 && status < 300; }
};

// Gets the body of an answer with status 2xx, piece by piece; an error ends the transfer and is its result.
using BodySink = std::function<Result<void>(const HttpAnswer& head, std::string_view bytes)>;

// One connection that is kept for the next request. For one thread at a time.
class Http {
 public:
  explicit Http(PlainHosts plain);
  ~Http();
  Http(Http&&) noexcept;

  // An answer of any status is a value. Errors: disconnected (try again), timeout, cancelled, denied (a certificate, or
  // plain HTTP), protocol (too long, not what was asked for).
  Result<HttpAnswer> send(const HttpRequest& request, const std::stop_token& stop, const BodySink& sink = nullptr);

  const PlainHosts& plain() const { return plain_; }

 private:
  struct Transfer;
  Result<HttpAnswer> send_once(const HttpRequest& request, const Url& url, const std::stop_token& stop,
                               const BodySink& sink);

  PlainHosts plain_;
  std::unique_ptr<void, void (*)(void*)> curl_;
};

}  // namespace cove::image
