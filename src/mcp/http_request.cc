#include "mcp/http_request.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/ascii.h"
#include "mcp/message.h"

namespace cove::mcp {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t kMostHead = 16U << 10;

}  // namespace

struct HttpParser::Parser {
  http::request_parser<http::string_body> beast;
};

std::optional<std::string> HttpRequest::field(const std::string& name) const {
  const auto [first, last] = fields.equal_range(name);
  if (first == last || std::next(first) != last) return std::nullopt;
  return first->second;
}

HttpParser::HttpParser() : parser_(std::make_unique<Parser>()) {
  parser_->beast.header_limit(kMostHead);
  parser_->beast.body_limit(kMostMessage);
}
HttpParser::~HttpParser() = default;
HttpParser::HttpParser(HttpParser&&) noexcept = default;
HttpParser& HttpParser::operator=(HttpParser&&) noexcept = default;

Result<std::size_t> HttpParser::put(std::string_view bytes) {
  const bool only_head = !head_done();
  boost::beast::error_code error;
  std::size_t used = 0;
  while (!done() && used < bytes.size() && !(only_head && head_done())) {
    const std::string_view rest = bytes.substr(used);
    const std::size_t n = parser_->beast.put(boost::asio::buffer(rest.data(), rest.size()), error);
    used += n;
    if (error || n == 0) break;
  }
  if (!error || error == http::error::need_more) return used;
  const bool large = error == http::error::header_limit || error == http::error::body_limit;
  return fail(large ? Errc::busy : Errc::invalid, "this request cannot be read: " + error.message());
}

bool HttpParser::head_done() const { return parser_->beast.is_header_done(); }
bool HttpParser::done() const { return parser_->beast.is_done(); }

bool HttpParser::wants_continue() const {
  return !done() && lower(std::string(parser_->beast.get()[http::field::expect])) == "100-continue";
}

HttpRequest HttpParser::head() const {
  const auto& message = parser_->beast.get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.keep_alive = message.keep_alive();
  for (const auto& field : message)
    request.fields.emplace(lower(std::string(field.name_string())), std::string(field.value()));
  return request;
}

HttpRequest HttpParser::take() {
  HttpRequest request = head();
  request.body = std::move(parser_->beast.get().body());
  return request;
}

}  // namespace cove::mcp
