#include "os/accounts.h"

#include <algorithm>

#include "os/cgroup_layout.h"

namespace cove::os {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> fields(1);
  for (const char c : text) {
    if (c == separator)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

}  // namespace

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<Account> find_account(const std::string& user) {
  for (const std::string& line : split(read_text("/etc/passwd"), '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 7 || (fields[0] != user && fields[2] != user)) continue;
    if (!is_number(fields[2]) || !is_number(fields[3])) continue;
    return Account{.name = fields[0],
                   .home = fields[5],
                   .shell = fields[6],
                   .uid = static_cast<uid_t>(std::stoul(fields[2])),
                   .gid = static_cast<gid_t>(std::stoul(fields[3]))};
  }
  return std::nullopt;
}

std::vector<gid_t> find_groups(const std::string& user) {
  std::vector<gid_t> groups;
  for (const std::string& line : split(read_text("/etc/group"), '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 4 || !is_number(fields[2])) continue;
    const auto members = split(fields[3], ',');
    if (std::find(members.begin(), members.end(), user) != members.end())
      groups.push_back(static_cast<gid_t>(std::stoul(fields[2])));
  }
  return groups;
}

}  // namespace cove::os
