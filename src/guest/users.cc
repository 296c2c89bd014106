#include "guest/users.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace cove::guest {
namespace {

std::vector<std::string> read_lines(const char* path) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  std::vector<std::string> lines(1);
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; fd && (n = read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[static_cast<std::size_t>(i)] == '\n')
        lines.emplace_back();
      else
        lines.back() += buffer[static_cast<std::size_t>(i)];
    }
  }
  return lines;
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == separator)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

void set_variable(std::vector<std::string>& env, const std::string& name, const std::string& value) {
  std::erase_if(env, [&](const std::string& entry) { return entry.compare(0, name.size() + 1, name + "=") == 0; });
  env.push_back(name + "=" + value);
}

}  // namespace

Result<void> become_user(os::ExecSpec& spec, const std::string& user) {
  std::string name = user, home = "/";
  bool found = false;
  for (const std::string& line : read_lines("/etc/passwd")) {
    const auto fields = split(line, ':');
    if (fields.size() < 7 || (fields[0] != user && fields[2] != user) || !is_number(fields[2]) || !is_number(fields[3]))
      continue;
    name = fields[0];
    spec.uid = static_cast<uid_t>(std::stoul(fields[2]));
    spec.gid = static_cast<gid_t>(std::stoul(fields[3]));
    home = fields[5];
    found = true;
    break;
  }
  if (!found && is_number(user)) {
    spec.uid = spec.gid = static_cast<uid_t>(std::stoul(user));
    found = true;
  }
  if (!found) return fail(Errc::not_found, "there is no user " + user + " in the sandbox");
  for (const std::string& line : read_lines("/etc/group")) {
    const auto fields = split(line, ':');
    if (fields.size() < 4 || !is_number(fields[2])) continue;
    for (const std::string& member : split(fields[3], ',')) {
      if (member == name) spec.groups.push_back(static_cast<gid_t>(std::stoul(fields[2])));
    }
  }
  spec.switch_user = geteuid() == 0 || spec.uid != geteuid();
  set_variable(spec.env, "HOME", home);
  set_variable(spec.env, "USER", name);
  set_variable(spec.env, "LOGNAME", name);
  return {};
}

}  // namespace cove::guest
