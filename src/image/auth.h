#pragma once

// Shows a registry who we are, when and how it asks for it.

#include <mutex>
#include <stop_token>
#include <string>

#include "image/challenge.h"
#include "image/credentials.h"
#include "image/http.h"

namespace cove::image {

// For pulling from one repository; shared by the threads of one pull. Credentials are looked for only when the registry
// asks, so that a public image needs none and a broken configuration of docker's does not matter to it.
class Authorizer {
 public:
  Authorizer(std::string registry, std::string repository)
      : registry_(std::move(registry)), repository_(std::move(repository)) {}

  // The Authorization header to send: "" as long as nobody has asked.
  std::string header() const;
  // After an answer of 401 to a request with `sent`: finds what that answer asks for. Another thread may have done so
  // already. denied where we have nothing (better) to show.
  Result<void> answer(Http& http, const HttpAnswer& refusal, const std::string& sent, const std::stop_token& stop);

  // "REGISTRY does not let USER read REPOSITORY", with the way out.
  Error refused() const;

 private:
  Result<void> load_credentials();
  Result<std::string> fetch_token(Http& http, const Challenge& challenge, const std::stop_token& stop);
  HttpRequest token_request(const std::string& realm, const Challenge& challenge) const;
  Error refused_locked() const;

  const std::string registry_, repository_;
  mutable std::mutex mutex_;
  std::string header_;
  bool looked_ = false;
  std::optional<Credentials> credentials_;
};

}  // namespace cove::image
