#include "image/http.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/ascii.h"
#include "image/curl_library.h"

namespace cove::image {
namespace {

constexpr int kMostRedirects = 5;
constexpr std::size_t kMostHeaderBytes = 64 << 10, kMostErrorBytes = 16 << 10;
constexpr long kConnectSeconds = 20, kStallSeconds = 30, kStallBytes = 64;
// CURLOPT_PROTOCOLS, whose name is deprecated: libcurl before 7.85 has nothing else.
constexpr auto kProtocolBits = static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// A header of ours that held a line break would be two.
bool one_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

class HeaderList {
 public:
  explicit HeaderList(const CurlLibrary& curl) : curl_(curl) {}
  ~HeaderList() { curl_.slist_free_all(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void add(const std::string& line) { list_ = curl_.slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  const CurlLibrary& curl_;
  curl_slist* list_ = nullptr;
};

Errc code_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return Errc::timeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE: return Errc::denied;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_TOO_MANY_REDIRECTS: return Errc::protocol;
    default: return Errc::disconnected;
  }
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

// What libcurl's callbacks see of one transfer.
struct Http::Transfer {
  const HttpRequest& request;
  const std::stop_token& stop;
  const BodySink& sink;
  HttpAnswer answer;
  std::size_t header_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::optional<Error> error;

  static std::size_t on_header(const char* data, std::size_t one, std::size_t size, void* self) {
    return static_cast<Transfer*>(self)->take_header({data, one * size}) ? one * size : 0;
  }
  static std::size_t on_body(const char* data, std::size_t one, std::size_t size, void* self) {
    return static_cast<Transfer*>(self)->take_body({data, one * size}) ? one * size : CURL_WRITEFUNC_ERROR;
  }
  // Nonzero ends the transfer.
  static int on_tick(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (transfer.stop.stop_requested()) transfer.error = Error{Errc::cancelled, "it was interrupted"};
    if (transfer.request.deadline.passed()) transfer.error = Error{Errc::timeout, "it took too long"};
    return transfer.error ? 1 : 0;
  }

  bool give_up(Errc code, std::string why) {
    error = Error{code, std::move(why)};
    return false;
  }
  bool take_header(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > kMostHeaderBytes) return give_up(Errc::protocol, "the answer's header is too long");
    if (line.starts_with("HTTP/")) {  // also once for each 1xx before the real one
      answer.headers.clear();
      const std::size_t space = std::min(line.find(' '), line.size());
      answer.status = std::atoi(std::string(line.substr(space)).c_str());
      return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return true;
    std::string& value = answer.headers[lower(trimmed(line.substr(0, colon)))];
    value += (value.empty() ? "" : ", ") + std::string(trimmed(line.substr(colon + 1)));
    return true;
  }
  bool take_body(std::string_view bytes) {
    if (!answer.good()) {
      answer.body += bytes.substr(0, kMostErrorBytes - std::min(kMostErrorBytes, answer.body.size()));
      return true;
    }
    body_bytes += bytes.size();
    if (body_bytes > request.most_bytes) {
      return give_up(Errc::protocol, "more than " + std::to_string(request.most_bytes) + " bytes came");
    }
    if (!sink) {
      answer.body += bytes;
      return true;
    }
    if (auto taken = sink(answer, bytes); !taken) error = std::move(taken).error();
    return !error;
  }
};

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Http::Http(PlainHosts plain) : plain_(std::move(plain)), curl_(nullptr, nullptr) {}
Http::~Http() = default;
Http::Http(Http&&) noexcept = default;

namespace {

struct Handle {
  const CurlLibrary& library;
  CURL* curl;

  template <class Value>
  CURLcode set(CURLoption option, Value value) const {
    return library.easy_setopt(curl, option, value);
  }
};

void set_rules(const Handle& curl, const Url& url) {
  curl.set(CURLOPT_URL, url.text.c_str());
  if (curl.set(CURLOPT_PROTOCOLS_STR, url.scheme.c_str()) != CURLE_OK) {
    curl.set(kProtocolBits, static_cast<long>(url.scheme == "https" ? CURLPROTO_HTTPS : CURLPROTO_HTTP));
  }
  curl.set(CURLOPT_FOLLOWLOCATION, 0L);  // by hand: credentials and plain HTTP are our own affair
  curl.set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl.set(CURLOPT_NOSIGNAL, 1L);
  curl.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl.set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl.set(CURLOPT_LOW_SPEED_LIMIT, kStallBytes);
  curl.set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl.set(CURLOPT_USERAGENT, "cove/0.1");
  if (url.loopback()) curl.set(CURLOPT_PROXY, "");  // a proxy's loopback is another machine's
  if (const char* file = std::getenv("SSL_CERT_FILE")) curl.set(CURLOPT_CAINFO, file);
  if (const char* folder = std::getenv("SSL_CERT_DIR")) curl.set(CURLOPT_CAPATH, folder);
}

void set_request(const Handle& curl, const HttpRequest& request, HeaderList& headers) {
  for (const std::string& line : request.headers) headers.add(line);
  if (!request.authorization.empty()) headers.add("Authorization: " + request.authorization);
  if (request.method == Method::head) curl.set(CURLOPT_NOBODY, 1L);
  if (request.method == Method::post) {
    curl.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.form.size()));
    curl.set(CURLOPT_POSTFIELDS, request.form.c_str());
  }
  if (request.from > 0) headers.add("Range: bytes=" + std::to_string(request.from) + "-");
  curl.set(CURLOPT_HTTPHEADER, headers.get());
}

}  // namespace

Result<HttpAnswer> Http::send_once(const HttpRequest& request, const Url& url, const std::stop_token& stop,
                                   const BodySink& sink) {
  COVE_TRY(const CurlLibrary* const library, curl_library());
  if (!curl_) curl_ = {library->easy_init(), library->easy_cleanup};
  if (!curl_) return fail(Errc::internal, "libcurl does not start");
  const Handle curl{*library, curl_.get()};
  Transfer transfer{request, stop, sink, {}, 0, 0, {}};
  if (Transfer::on_tick(&transfer, 0, 0, 0, 0) != 0) return fail(std::move(*transfer.error).because(url.shown()));
  HeaderList headers(*library);
  std::array<char, CURL_ERROR_SIZE> words{};
  library->easy_reset(curl_.get());  // the connection stays
  set_rules(curl, url);
  set_request(curl, request, headers);
  curl.set(CURLOPT_ERRORBUFFER, words.data());
  curl.set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl.set(CURLOPT_HEADERDATA, &transfer);
  curl.set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl.set(CURLOPT_WRITEDATA, &transfer);
  curl.set(CURLOPT_NOPROGRESS, 0L);
  curl.set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_tick);
  curl.set(CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = library->easy_perform(curl_.get());
  if (transfer.error) return fail(std::move(*transfer.error).because(url.shown()));
  if (code == CURLE_OK) return std::move(transfer.answer);
  std::string why = words[0] != '\0' ? words.data() : library->easy_strerror(code);
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    why += "; if its authority is to be trusted, add it to the system's or name its file in SSL_CERT_FILE";
  }
  return fail(code_of(code), url.shown() + ": " + why);
}

Result<HttpAnswer> Http::send(const HttpRequest& request, const std::stop_token& stop, const BodySink& sink) {
  HttpRequest next = request;
  COVE_TRY(Url url, parse_url(request.url));
  const auto clean = [](const std::string& line) { return one_line(line); };
  if (!clean(request.authorization) || !std::all_of(request.headers.begin(), request.headers.end(), clean)) {
    return fail(Errc::invalid, url.shown() + ": a header holds what is no text");
  }
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    COVE_CHECK(plain_.check(url));
    COVE_TRY(HttpAnswer answer, send_once(next, url, stop, sink));
    if (!is_redirect(answer.status) || request.method == Method::post) return answer;
    COVE_TRY(Url target, parse_url(answer.header("location"), url.text));
    if (url.scheme == "https" && target.scheme != "https") {
      return fail(Errc::denied, url.shown() + " leads to " + target.shown() + ", which is not encrypted");
    }
    if (target.origin() != url.origin()) next.authorization.clear();
    url = std::move(target);
  }
  return fail(Errc::protocol, request.url.substr(0, request.url.find('?')) + ": too many redirects");
}

}  // namespace cove::image
