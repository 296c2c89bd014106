#pragma once

// One HTTP/1.1 request out of a stream of bytes (Boost.Beast's parser behind a plain header). Limits: 16 KiB of head, a
// message of body.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::mcp {

struct HttpRequest {
  std::string method, target, body;
  std::multimap<std::string, std::string> fields;  // names in lower case
  bool keep_alive = true;

  // nullopt: not given, or given twice, which for everything that is asked here is as bad.
  std::optional<std::string> field(const std::string& name) const;
  std::size_t count(const std::string& name) const { return fields.count(name); }
};

class HttpParser {
 public:
  HttpParser();
  ~HttpParser();
  HttpParser(HttpParser&&) noexcept;
  HttpParser& operator=(HttpParser&&) noexcept;

  // How many of these bytes it has used: those of the head at first, then those of the body. The others are to be given
  // again, with what comes after them. invalid: this is no request; busy: it is too large.
  Result<std::size_t> put(std::string_view bytes);
  bool head_done() const;
  bool done() const;
  bool wants_continue() const;  // the client waits to be told to send the body
  HttpRequest head() const;     // once that is done; without a body
  HttpRequest take();           // once all is done

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace cove::mcp
