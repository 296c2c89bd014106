#pragma once

// What people write for an image, in the one form that the rest of the program uses.
//   python:3.12                        docker.io/library/python:3.12
//   localhost:5000/a/b@sha256:HEX      as it is
//   docker-daemon:NAME[:TAG]           an image of the local Docker daemon
//   containers-storage:NAME[:TAG]      an image of podman on this machine
// Needs base and the form of digests only, so that the store can use it for the names of images.

#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::image {

enum class Transport : unsigned char { registry, docker_daemon, containers_storage };

struct Reference {
  Transport transport = Transport::registry;
  std::string registry;    // "docker.io", "localhost:5000", "[::1]:5000"
  std::string repository;  // "library/python"
  std::string tag;         // "latest" where neither tag nor digest is given; "" with a digest alone
  std::string digest;      // "sha256:HEX" or ""
  std::string asked;       // as it was written, without the transport: what an engine on this machine knows it by

  // Under which an image is stored: "docker.io/library/python:3.12", with "@sha256:HEX" where a digest is given.
  std::string name() const;
};

// Names come from users, archives and other programs: whatever is not exactly of the form is an error that says why.
Result<Reference> parse_reference(std::string_view text);

}  // namespace cove::image
