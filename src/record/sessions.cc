#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "os/remove_tree.h"
#include "proto/guest.h"
#include "record/files.h"
#include "record/record.h"

namespace cove::record {
namespace {

// A session's name may be anything, so its file is named by a hash (FNV-1a) and holds the name itself.
std::string file_of(const std::string& session) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : session) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash));
  return name;
}

}  // namespace

Result<void> Record::save_session(const std::string& session, const std::string& state) const {
  if (mkdirat(directory(), "sessions", 0700) < 0 && errno != EEXIST) return fail_errno("make sessions/");
  COVE_TRY(const UniqueFd folder, open_private_directory(directory(), "sessions", "sessions/ of sandbox " + name_));
  return write_file_at(folder.get(), file_of(session), proto::encode(proto::SessionState{session, state}));
}

Result<std::vector<std::pair<std::string, std::string>>> Record::sessions() const {
  std::vector<std::pair<std::string, std::string>> all;
  const auto folder = open_private_directory(directory(), "sessions", "sessions/ of sandbox " + name_);
  if (!folder && folder.error().code == Errc::not_found) return all;
  if (!folder) return fail(folder.error());
  COVE_TRY(const auto names, os::names_in(folder->get()));
  for (const std::string& name : names) {
    const auto bytes = read_file_at(folder->get(), name);
    auto saved = bytes ? proto::decode<proto::SessionState>(*bytes) : Result<proto::SessionState>(fail(bytes.error()));
    if (saved && name[0] != '.') all.emplace_back(std::move(saved->session), std::move(saved->state));
  }
  return all;
}

Result<void> Record::save_proof(const std::string& json) const {
  return write_file_at(directory(), "proof.json", json);
}
Result<std::string> Record::proof() const { return read_file_at(directory(), "proof.json"); }

}  // namespace cove::record
