#include "mcp/http_request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "mcp/message.h"

namespace cove::mcp {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t kMostHead = 16U << 10;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

}  // namespace

struct HttpParser::Parser {
  http::request_parser<http::string_body> beast;
  std::string left;  // of a head that is not complete: Beast wants to see it whole
  bool began = false, continued = false;
};

std::optional<std::string> HttpRequest::field(const std::string& name) const {
  const auto [first, last] = fields.equal_range(name);
  if (first == last || std::next(first) != last) return std::nullopt;
  return first->second;
}

HttpParser::HttpParser() : parser_(std::make_unique<Parser>()) {
  parser_->beast.header_limit(kMostHead);
  parser_->beast.body_limit(kMostMessage);
  parser_->beast.eager(true);
}
HttpParser::~HttpParser() = default;
HttpParser::HttpParser(HttpParser&&) noexcept = default;
HttpParser& HttpParser::operator=(HttpParser&&) noexcept = default;

Result<std::size_t> HttpParser::put(std::string_view bytes) {
  parser_->began = parser_->began || !bytes.empty();
  const std::size_t before = parser_->left.size();
  parser_->left += bytes;
  boost::beast::error_code error;
  std::size_t used = 0;
  while (!parser_->beast.is_done() && used < parser_->left.size()) {
    const auto rest = std::string_view(parser_->left).substr(used);
    const std::size_t n = parser_->beast.put(boost::asio::buffer(rest.data(), rest.size()), error);
    used += n;
    if (error == http::error::need_more || n == 0) break;
    if (error) break;
  }
  if (error && error != http::error::need_more) {
    const bool large = error == http::error::header_limit || error == http::error::body_limit;
    return fail(large ? Errc::busy : Errc::invalid, "this request cannot be read: " + error.message());
  }
  if (parser_->beast.is_done()) {
    const std::size_t taken = used - std::min(used, before);
    parser_->left.clear();
    return taken;
  }
  parser_->left.erase(0, used);
  if (parser_->left.size() > kMostHead) return fail(Errc::busy, "the head of this request is too large");
  return bytes.size();
}

bool HttpParser::began() const { return parser_->began; }
bool HttpParser::done() const { return parser_->beast.is_done(); }

bool HttpParser::wants_continue() {
  if (parser_->continued || !parser_->beast.is_header_done() || done()) return false;
  const auto& fields = parser_->beast.get();
  parser_->continued = lower(std::string(fields[http::field::expect])) == "100-continue";
  return parser_->continued;
}

HttpRequest HttpParser::take() {
  auto message = parser_->beast.release();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.keep_alive = message.keep_alive();
  for (const auto& field : message)
    request.fields.emplace(lower(std::string(field.name_string())), std::string(field.value()));
  request.body = std::move(message.body());
  return request;
}

}  // namespace cove::mcp
