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

  // Takes bytes as they come; how many of them it has used. invalid: this is no request; busy: it is too large.
  Result<std::size_t> put(std::string_view bytes);
  bool began() const;
  bool done() const;
  bool wants_continue();  // the client waits to be told to send the body; true once
  HttpRequest take();     // once it is done

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace cove::mcp
