#include "record/launch.h"

#include <bit>

namespace cove::record {
namespace {

// The request as the codec sees it: pairs become K=V (a name never holds '='), a double becomes its bits.
struct Wire {
  LaunchRequest request;
  std::vector<std::string> env;
  std::uint64_t cpus = 0;
  std::uint64_t copies_began = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    auto& spec = s.request.spec;
    ar(s.request.restart, spec.name, spec.backend, spec.require, spec.image, spec.net, spec.cwd, s.env,
       spec.env_names_forwarded, spec.volumes, s.cpus, spec.memory_bytes, spec.disk_bytes, spec.pids, spec.timeout_ms,
       spec.idle_timeout_ms, spec.max_duration_ms, spec.log_cap_bytes, spec.persistent, spec.login, spec.owned,
       spec.prepared, spec.image_layers, spec.user, spec.layers, spec.checkpoint, spec.from, s.copies_began,
       spec.engine, spec.runtime, spec.pull, s.request.forget, spec.accel, spec.kernel, spec.fresh, spec.sys,
       spec.split);
  }
};

}  // namespace

std::string encode(const LaunchRequest& request) {
  Wire wire{request,
            {},
            std::bit_cast<std::uint64_t>(request.spec.cpus),
            static_cast<std::uint64_t>(request.spec.copies_began_ns)};
  for (const auto& [key, value] : request.spec.env) wire.env.push_back(key + "=" + value);
  return proto::encode(wire);
}

Result<LaunchRequest> decode_launch(std::string_view payload) {
  COVE_TRY(Wire wire, proto::decode<Wire>(payload));
  for (const std::string& entry : wire.env) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) return fail(Errc::protocol, "a launch request holds a variable without a value");
    wire.request.spec.env.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  wire.request.spec.cpus = std::bit_cast<double>(wire.cpus);
  wire.request.spec.copies_began_ns = static_cast<std::int64_t>(wire.copies_began);
  return std::move(wire.request);
}

}  // namespace cove::record
