#include "image/auth.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/base64.h"

namespace cove::image {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostToken = std::size_t{64} << 10;

bool is_token(const std::string& text) {
  return !text.empty() && text.size() <= kMostToken &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::string basic(const Credentials& credentials) {
  return "Basic " + base64(credentials.user + ":" + credentials.password);
}

const Challenge* find_scheme(const std::vector<Challenge>& all, std::string_view scheme) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Challenge& c) { return c.scheme == scheme; });
  return found == all.end() ? nullptr : &*found;
}

Result<std::string> token_in(const HttpAnswer& answer, const std::string& realm) {
  const Json json = parse_json(answer.body);
  for (const char* key : {"token", "access_token"}) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (json.is_object() && found != json.end() && found->is_string() && is_token(found->get<std::string>())) {
      return found->get<std::string>();
    }
  }
  return fail(Errc::protocol, realm + " gave an answer without a token");
}

}  // namespace

std::string Authorizer::header() const {
  const std::lock_guard lock(mutex_);
  return header_;
}

Error Authorizer::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_locked();
}

Error Authorizer::refused_locked() const {
  if (!credentials_) {
    return {Errc::denied, registry_ + " does not show " + repository_ +
                              " to everybody (or has no such image): run 'docker login " + registry_ +
                              "' or 'podman login " + registry_ + "' first"};
  }
  const std::string who =
      credentials_->identity_token.empty() ? "user '" + credentials_->user + "'" : "the identity token";
  return {Errc::denied, registry_ + " does not accept " + who + " of " + credentials_->from + " for " + repository_ +
                            ": run 'docker login " + registry_ + "' again"};
}

Result<void> Authorizer::load_credentials() {
  if (looked_) return {};
  COVE_TRY(credentials_, find_credentials(registry_, repository_));
  looked_ = true;
  return {};
}

// An identity token is exchanged by a form (OAuth 2); everything else is a plain question.
HttpRequest Authorizer::token_request(const std::string& realm, const Challenge& challenge) const {
  std::string scope = challenge.parameter("scope");
  if (scope.empty()) scope = "repository:" + repository_ + ":pull";
  const std::string service = percent_encoded(challenge.parameter("service"));
  const std::string query = "service=" + service + "&scope=" + percent_encoded(scope);
  HttpRequest request{.url = realm, .deadline = Deadline::after(std::chrono::seconds(60))};
  if (credentials_ && !credentials_->identity_token.empty()) {
    request.method = Method::post;
    request.form = "grant_type=refresh_token&client_id=cove&" + query +
                   "&refresh_token=" + percent_encoded(credentials_->identity_token);
    return request;
  }
  request.url += (realm.find('?') == std::string::npos ? "?" : "&") + query;
  if (credentials_) request.authorization = basic(*credentials_);
  return request;
}

Result<std::string> Authorizer::fetch_token(Http& http, const Challenge& challenge, const std::stop_token& stop) {
  const std::string realm = challenge.parameter("realm");
  auto url = parse_url(realm);
  if (!url) return fail(std::move(url).error().because(registry_ + " asks for a token"));
  if (auto allowed = http.plain().check(*url); !allowed) {
    return fail(std::move(allowed).error().because(registry_ + " asks for a token"));
  }
  auto answer = http.send(token_request(url->text, challenge), stop);
  if (!answer) return fail(std::move(answer).error().because("get a token for " + registry_));
  if (answer->status == 401 || answer->status == 403 || answer->status == 400) return fail(refused_locked());
  if (!answer->good()) {
    return fail(answer->status == 429 || answer->status >= 500 ? Errc::busy : Errc::protocol,
                url->shown() + " answered " + std::to_string(answer->status) + " when asked for a token");
  }
  return token_in(*answer, url->shown());
}

Result<void> Authorizer::answer(Http& http, const HttpAnswer& refusal, const std::string& sent,
                                const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (header_ != sent) return {};
  COVE_CHECK(load_credentials());
  const auto challenges = parse_challenges(refusal.header("www-authenticate"));
  if (const Challenge* bearer = find_scheme(challenges, "bearer")) {
    COVE_TRY(const std::string token, fetch_token(http, *bearer, stop));
    header_ = "Bearer " + token;
    return {};
  }
  if (find_scheme(challenges, "basic") == nullptr) {
    return fail(Errc::unsupported, registry_ + " asks for a kind of authorization that is neither Basic nor Bearer");
  }
  if (!credentials_ || sent.starts_with("Basic ")) return fail(refused_locked());
  header_ = basic(*credentials_);
  return {};
}

}  // namespace cove::image
