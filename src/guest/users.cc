#include "guest/users.h"

#include <unistd.h>

#include <cstdio>
#include <vector>

#include "os/accounts.h"
#include "os/cgroup_layout.h"

namespace cove::guest {
namespace {

void set_variable(std::vector<std::string>& env, const std::string& name, const std::string& value) {
  std::erase_if(env, [&](const std::string& entry) { return entry.compare(0, name.size() + 1, name + "=") == 0; });
  env.push_back(name + "=" + value);
}

}  // namespace

Result<void> become_user(os::ExecSpec& spec, const std::string& user) {
  auto account = os::find_account(user);
  if (!account && os::is_number(user)) {
    const auto id = static_cast<uid_t>(std::stoul(user));
    account = os::Account{.name = user, .home = "/", .shell = "", .uid = id, .gid = id};
  }
  if (!account) return fail(Errc::not_found, "there is no user " + user + " in the sandbox");
  spec.uid = account->uid;
  spec.gid = account->gid;
  spec.groups = os::find_groups(account->name);
  spec.switch_user = geteuid() == 0 || spec.uid != geteuid();
  set_variable(spec.env, "HOME", account->home);
  set_variable(spec.env, "USER", account->name);
  set_variable(spec.env, "LOGNAME", account->name);
  return {};
}

bool is_mapped(uid_t id) {
  const std::string map = os::read_text("/proc/self/uid_map");
  const char* at = map.c_str();
  for (unsigned long first = 0, outside = 0, count = 0;
       std::sscanf(at, "%lu %lu %lu", &first, &outside, &count) == 3;) {
    if (id >= first && id - first < count) return true;
    const std::size_t end = map.find('\n', static_cast<std::size_t>(at - map.c_str()));
    if (end == std::string::npos) break;
    at = map.c_str() + end + 1;
  }
  return map.empty();
}

}  // namespace cove::guest
