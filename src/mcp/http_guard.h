#pragma once

// Who may ask, and whether a request's head fits its body. Pure functions.
//
// A web page that a person visits can make their browser send requests to a server on their own machine. Such a request
// has an Origin that is not ours, or, where a name was made to lead here (DNS rebinding), a Host that is not ours.

#include <vector>

#include "mcp/http_request.h"
#include "mcp/message.h"

namespace cove::mcp {

struct HttpRules {
  std::string token;                 // "": none is asked for
  std::vector<std::string> hosts;    // besides localhost, 127.0.0.1 and [::1]; with any port
  std::vector<std::string> origins;  // besides http and https of these: "https://app.example.org"
};

// A status that is not 200 is the whole answer.
struct HttpVerdict {
  int status = 200;
  std::string why;
};

HttpVerdict check_sender(const HttpRequest& request, const HttpRules& rules);
// Type and wanted type of a POST.
HttpVerdict check_post(const HttpRequest& request);
bool accepts_stream(const HttpRequest& request);
bool accepts_json(const HttpRequest& request);

// Headers that must say what the body says. nullopt: they do.
std::optional<Refusal> check_headers(const HttpRequest& request, const Message& message);

// A version that is not served is something else where the headers say another one.
Refusal check_refusal(const HttpRequest& request, const Refusal& refusal);

// What an error of ours is in terms of HTTP.
int http_status(const Refusal& refusal, Era era);

}  // namespace cove::mcp
