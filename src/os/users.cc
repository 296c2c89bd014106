#include "os/users.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <sstream>

#include "os/accounts.h"
#include "os/cgroup_layout.h"
#include "os/child.h"

namespace cove::os {
namespace {

Result<void> write_file(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("write " + path);
  return {};
}

bool has_program(const char* name) { return access((std::string("/usr/bin/") + name).c_str(), X_OK) == 0; }

std::string line(std::uint32_t inside, std::uint32_t outside, std::uint32_t count) {
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) + "\n";
}

// newuidmap is set-user-id: it may map what /etc/subuid allows.
Result<Child> start_mapper(const char* program, pid_t child, std::uint32_t own, IdRange more) {
  ExecSpec spec;
  spec.program = std::string("/usr/bin/") + program;
  spec.argv = {program, std::to_string(child)};
  const std::array<std::array<std::uint32_t, 3>, 2> maps{{{0, own, 1}, {1, more.first, more.count}}};
  for (const auto& map : maps) {
    for (const std::uint32_t number : map) spec.argv.push_back(std::to_string(number));
  }
  return Child::spawn(spec);
}

Result<void> map_with_ranges(const Users& users, pid_t child, Deadline deadline) {
  COVE_TRY(Child uids, start_mapper("newuidmap", child, users.uid, users.more_uids));
  COVE_TRY(Child gids, start_mapper("newgidmap", child, users.gid, users.more_gids));
  COVE_TRY(const ExitStatus of_uids, uids.wait(deadline));
  COVE_TRY(const ExitStatus of_gids, gids.wait(deadline));
  if (of_uids.code == 0 && of_gids.code == 0) return {};
  return fail(Errc::denied, "map the ranges of /etc/subuid and /etc/subgid: newuidmap " + of_uids.text() +
                                ", newgidmap " + of_gids.text() + "; check that both are set-user-id root");
}

}  // namespace

IdRange find_range(const std::string& text, const std::string& name, uid_t uid) {
  std::istringstream lines(text);
  for (std::string entry; std::getline(lines, entry);) {
    const std::size_t first = entry.find(':'), second = entry.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string who = entry.substr(0, first);
    if (who != name && who != std::to_string(uid)) continue;
    IdRange range;
    const char* end = entry.data() + entry.size();
    const auto start = std::from_chars(entry.data() + first + 1, entry.data() + second, range.first);
    const auto count = std::from_chars(entry.data() + second + 1, end, range.count);
    if (start.ec == std::errc{} && count.ec == std::errc{}) return range;
  }
  return {};
}

Users find_users() {
  Users users;
  if (geteuid() == 0) {
    users = {.by_root = true, .uid = kFirstId, .gid = kFirstId, .more_uids = {}, .more_gids = {}};
    return users;
  }
  users.uid = geteuid();
  users.gid = getegid();
  if (!has_program("newuidmap") || !has_program("newgidmap")) return users;
  const auto account = find_account(users.uid);
  if (!account) return users;  // newuidmap maps nothing for whom it cannot name
  const IdRange uids = find_range(read_text("/etc/subuid"), account->name, users.uid);
  const IdRange gids = find_range(read_text("/etc/subgid"), account->name, users.uid);
  if (uids.count == 0 || gids.count == 0) return users;
  users.more_uids = uids;
  users.more_gids = gids;
  return users;
}

Result<void> map_users(const Users& users, pid_t child, Deadline deadline) {
  const std::string proc = "/proc/" + std::to_string(child) + "/";
  if (users.by_root) {
    COVE_CHECK(write_file(proc + "uid_map", line(0, users.uid, kIdCount)));
    return write_file(proc + "gid_map", line(0, users.gid, kIdCount));
  }
  if (users.more_uids.count > 0) return map_with_ranges(users, child, deadline);
  COVE_CHECK(write_file(proc + "setgroups", "deny"));
  COVE_CHECK(write_file(proc + "uid_map", line(0, users.uid, 1)));
  return write_file(proc + "gid_map", line(0, users.gid, 1));
}

}  // namespace cove::os
