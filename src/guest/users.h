#pragma once

#include <string>

#include "base/error.h"
#include "os/exec.h"

namespace cove::guest {

// Sets uid, gid, groups and the HOME, USER and LOGNAME of the environment for a user of the sandbox, by name or number.
Result<void> become_user(os::ExecSpec& spec, const std::string& user);

// Whether the number stands for anybody in this user namespace.
bool is_mapped(uid_t id);

}  // namespace cove::guest
