#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace cove::os {

// A line of /etc/passwd. Read by ourselves: a static program cannot load the modules of NSS.
struct Account {
  std::string name, home, shell;
  uid_t uid = 0;
  gid_t gid = 0;
};

// By name or number; of several the first.
std::optional<Account> find_account(const std::string& user);
inline std::optional<Account> find_account(uid_t uid) { return find_account(std::to_string(uid)); }

// The groups of /etc/group that name this user as a member.
std::vector<gid_t> find_groups(const std::string& user);

// At most nine digits.
bool is_number(const std::string& text);

}  // namespace cove::os
