#pragma once

// One repository of a registry (OCI distribution and Docker v2): its manifests and blobs.
// Nothing that it says is believed: what has a digest is checked against it, everything else has a limit.

#include <memory>
#include <stop_token>
#include <string>

#include "image/auth.h"
#include "image/http.h"
#include "image/oci.h"
#include "image/reference.h"

namespace cove::image {

inline constexpr std::uint64_t kMostBlobBytes = std::uint64_t{64} << 30;
inline constexpr std::size_t kMostConfigBytes = std::size_t{8} << 20;

struct FoundManifest {
  std::string digest;  // of the manifest itself, also where an index led to it
  Manifest manifest;
};

// For one thread; twin() is for another one and shares what has been found out about the registry.
class Registry {
 public:
  Registry(const Reference& reference, PlainHosts plain);
  Registry twin() const;

  // What the tag stands for now, by one request without a body; "" if the registry does not say.
  Result<std::string> current_digest(const std::stop_token& stop);
  // By tag or digest; of an index the entry for the platform.
  Result<FoundManifest> manifest(const Platform& platform, const std::stop_token& stop);
  // A whole small blob, checked.
  Result<std::string> small_blob(const Descriptor& blob, std::size_t most_bytes, const std::stop_token& stop);
  // The bytes from `from` on; the sink sees by the status whether the registry gave the range (206) or all of it (200).
  // Not checked: that is for who has all the bytes. invalid: there is no such range.
  Result<void> blob(const Descriptor& blob, std::uint64_t from, const std::stop_token& stop, const BodySink& sink);

 private:
  struct Fetched {
    std::string digest, media_type, body;
  };
  Registry(const Registry& other, Http http);
  Result<HttpAnswer> send(HttpRequest request, const std::string& path, const std::stop_token& stop,
                          const BodySink& sink = nullptr);
  Result<HttpAnswer> send_somehow(HttpRequest& request, const std::string& path, const std::stop_token& stop,
                                  const BodySink& sink);
  Result<Fetched> fetch_manifest(const std::string& which, const std::stop_token& stop);
  Error explain(const HttpAnswer& answer, const std::string& what) const;

  Reference reference_;
  Http http_;
  std::shared_ptr<Authorizer> authorizer_;
  std::string base_;  // "https://HOST"; "" until something has answered
};

}  // namespace cove::image
