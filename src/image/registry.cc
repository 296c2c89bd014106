#include "image/registry.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/digest.h"

namespace cove::image {
namespace {

using Json = nlohmann::json;

constexpr int kMostIndexes = 3;  // an index may name an index

std::string api_host(const std::string& registry) {
  return registry == "docker.io" ? "registry-1.docker.io" : registry;
}

std::string accepted() {
  return "Accept: " + std::string(kOciIndex) + ", " + std::string(kOciManifest) + ", " + std::string(kDockerList) +
         ", " + std::string(kDockerManifest);
}

// {"errors": [{"message": "..."}]}
std::string words_of(const HttpAnswer& answer) {
  const Json json = parse_json(answer.body);
  const auto errors = json.is_object() ? json.find("errors") : json.end();
  if (!json.is_object() || errors == json.end() || !errors->is_array() || errors->empty()) return "";
  const Json& first = errors->front();
  if (!first.is_object() || !first.contains("message") || !first["message"].is_string()) return "";
  const std::string words = printable(first["message"].get<std::string>());
  return words.empty() ? "" : " (" + words + ")";
}

Result<void> check_digest(const std::string& bytes, const std::string& wanted, const std::string& what) {
  const std::string real = sha256_of(bytes);
  if (real == wanted) return {};
  return fail(Errc::protocol, what + " is damaged: its digest is " + real + " and not " + wanted);
}

// The type in the header and the one in the document must be the same: what is an index to one reader and a manifest to
// another one would be two images under one digest.
Result<std::string> media_type_of(const HttpAnswer& answer, const std::string& name) {
  const std::string header = answer.header("content-type").substr(0, answer.header("content-type").find(';'));
  const Json json = parse_json(answer.body);
  if (!json.is_object()) return fail(Errc::protocol, "the manifest of " + name + " is no JSON object");
  const auto stated = json.find("mediaType");
  const std::string inside = stated != json.end() && stated->is_string() ? stated->get<std::string>() : "";
  std::string type = is_index(header) || is_manifest(header) || inside.empty() ? header : inside;
  const bool contradicts =
      (!inside.empty() && inside != type) || (json.contains("manifests") && json.contains("layers"));
  if (contradicts) return fail(Errc::protocol, "the manifest of " + name + " contradicts itself about what it is");
  return type;
}

}  // namespace

Registry::Registry(const Reference& reference, PlainHosts plain)
    : reference_(reference),
      http_(std::move(plain)),
      authorizer_(std::make_shared<Authorizer>(reference.registry, reference.repository)) {}

Registry::Registry(const Registry& other, Http http)
    : reference_(other.reference_), http_(std::move(http)), authorizer_(other.authorizer_), base_(other.base_) {}

Registry Registry::twin() const { return {*this, Http(http_.plain())}; }

// Where plain HTTP is allowed, TLS is tried first: a registry on loopback or in a list may well speak it.
Result<HttpAnswer> Registry::send_somehow(HttpRequest& request, const std::string& path, const std::stop_token& stop,
                                          const BodySink& sink) {
  const std::string host = api_host(reference_.registry);
  request.url = (base_.empty() ? "https://" + host : base_) + path;
  auto answer = http_.send(request, stop, sink);
  if (!base_.empty()) return answer;
  COVE_TRY(const Url plain, parse_url("http://" + host + path));
  const bool no_tls = !answer && (answer.error().code == Errc::protocol || answer.error().code == Errc::disconnected);
  if (!no_tls || !http_.plain().allows(plain)) {
    if (answer) base_ = "https://" + host;
    return answer;
  }
  request.url = plain.text;
  answer = http_.send(request, stop, sink);
  if (answer) base_ = "http://" + host;
  return answer;
}

Result<HttpAnswer> Registry::send(HttpRequest request, const std::string& path, const std::stop_token& stop,
                                  const BodySink& sink) {
  request.authorization = authorizer_->header();
  COVE_TRY(HttpAnswer answer, send_somehow(request, path, stop, sink));
  if (answer.status != 401) return answer;
  COVE_CHECK(authorizer_->answer(http_, answer, request.authorization, stop));
  request.authorization = authorizer_->header();
  return send_somehow(request, path, stop, sink);
}

Error Registry::explain(const HttpAnswer& answer, const std::string& what) const {
  const std::string words = words_of(answer);
  switch (answer.status) {
    case 401:
    case 403: return authorizer_->refused();
    case 404: return {Errc::not_found, reference_.registry + " has no " + what + words};
    case 416: return {Errc::invalid, reference_.registry + " has no such part of " + what};
    case 429:
      return {Errc::busy, reference_.registry + " gets too many requests from here: try later, or log in" + words};
    default: break;
  }
  return {answer.status >= 500 ? Errc::busy : Errc::protocol,
          reference_.registry + " answered " + std::to_string(answer.status) + " when asked for " + what + words};
}

Result<std::string> Registry::current_digest(const std::stop_token& stop) {
  const std::string which = reference_.digest.empty() ? reference_.tag : reference_.digest;
  HttpRequest request{.method = Method::head, .headers = {accepted()}};
  request.deadline = Deadline::after(std::chrono::seconds(60));
  COVE_TRY(const HttpAnswer answer, send(request, "/v2/" + reference_.repository + "/manifests/" + which, stop));
  if (!answer.good()) return fail(explain(answer, "image " + reference_.name()));
  const std::string digest = answer.header("docker-content-digest");
  return is_digest(digest) ? digest : "";
}

Result<Registry::Fetched> Registry::fetch_manifest(const std::string& which, const std::stop_token& stop) {
  HttpRequest request{.headers = {accepted()}, .most_bytes = kMostManifestBytes};
  request.deadline = Deadline::after(std::chrono::seconds(120));
  COVE_TRY(HttpAnswer answer, send(request, "/v2/" + reference_.repository + "/manifests/" + which, stop));
  const std::string name = "image " + reference_.name();
  if (!answer.good()) return fail(explain(answer, name));
  const std::string stated = is_digest(which) ? which : answer.header("docker-content-digest");
  if (is_digest(stated)) COVE_CHECK(check_digest(answer.body, stated, "the manifest of " + name));
  COVE_TRY(std::string type, media_type_of(answer, name));
  return Fetched{sha256_of(answer.body), std::move(type), std::move(answer.body)};
}

Result<FoundManifest> Registry::manifest(const Platform& platform, const std::stop_token& stop) {
  std::string which = reference_.digest.empty() ? reference_.tag : reference_.digest;
  for (int depth = 0; depth < kMostIndexes; ++depth) {
    COVE_TRY(Fetched fetched, fetch_manifest(which, stop));
    if (is_manifest(fetched.media_type)) {
      auto manifest = manifest_from_json(fetched.body);
      if (!manifest) return fail(std::move(manifest).error().because("image " + reference_.name()));
      return FoundManifest{std::move(fetched.digest), std::move(*manifest)};
    }
    if (!is_index(fetched.media_type)) {
      return fail(Errc::unsupported, reference_.name() + " is of type '" + printable(fetched.media_type) +
                                         "', which is no image of OCI or of Docker (v2, schema 2)");
    }
    auto entries = index_from_json(fetched.body);
    if (!entries) return fail(std::move(entries).error().because("image " + reference_.name()));
    auto chosen = choose(*entries, platform);
    if (!chosen) return fail(std::move(chosen).error().because("image " + reference_.name()));
    which = chosen->digest;
  }
  return fail(Errc::protocol, "image " + reference_.name() + ": indexes lead to indexes without end");
}

Result<std::string> Registry::small_blob(const Descriptor& blob, std::size_t most_bytes, const std::stop_token& stop) {
  if (blob.size > most_bytes) return fail(Errc::invalid, "blob " + blob.digest + " is too large");
  HttpRequest request{.most_bytes = blob.size, .deadline = Deadline::after(std::chrono::seconds(120))};
  COVE_TRY(HttpAnswer answer, send(request, "/v2/" + reference_.repository + "/blobs/" + blob.digest, stop));
  if (!answer.good()) return fail(explain(answer, "blob " + blob.digest));
  COVE_CHECK(check_digest(answer.body, blob.digest, "a blob of " + reference_.name()));
  return std::move(answer.body);
}

Result<void> Registry::blob(const Descriptor& blob, std::uint64_t from, const std::stop_token& stop,
                            const BodySink& sink) {
  const HttpRequest request{.from = from, .most_bytes = blob.size};
  COVE_TRY(const HttpAnswer answer,
           send(request, "/v2/" + reference_.repository + "/blobs/" + blob.digest, stop, sink));
  if (!answer.good()) return fail(explain(answer, "layer " + blob.digest));
  return {};
}

}  // namespace cove::image
