// What was left open by those who started this process, and what they know.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

std::string target_of(const std::string& link) {
  char target[4096];
  const ssize_t n = readlink(link.c_str(), target, sizeof(target));
  return n > 0 ? std::string(target, static_cast<std::size_t>(n)) : "";
}

// Every descriptor above 2 of this process.
Act own(const Args&) {
  std::string found;
  for (const std::string& name : entries("/proc/self/fd")) {
    const std::string target = target_of("/proc/self/fd/" + name);
    // The directory that is being read is in its own list, and gone by now.
    if (std::stoi(name) <= 2 || target.empty()) continue;
    found += " " + name + "=" + target;
  }
  return found.empty() ? refused("nothing but 0, 1 and 2") : did("inherited" + found);
}

std::string files_of(const std::string& base, const std::vector<std::string>& names) {
  std::string found;
  for (const std::string& name : names) {
    const std::string target = target_of(base + name);
    struct stat info{};
    if (target + "/" == base) continue;  // it looks at what to close, before exec
    if (!target.starts_with('/') || target.starts_with("/dev/") || target.starts_with("/memfd:") ||
        stat((base + name).c_str(), &info) < 0)
      continue;
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode)) found += " " + name + "=" + target;
  }
  return found;
}

// Files, directories and disks that the guest holds open. Its pipes and sockets are its trade.
Act of_guest(const Args&) {
  std::size_t seen = 0;
  for (const int pid : guests()) {
    const std::string base = "/proc/" + std::to_string(pid) + "/fd/";
    const auto names = entries(base);
    seen += names.size();
    if (const std::string found = files_of(base, names); !found.empty()) return did("the guest holds" + found);
  }
  return refused("of " + std::to_string(seen) + " that can be seen none is a file");
}

// args: text. In the environment of this process.
Act environment(const Args& args) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).find(args[0]) != std::string_view::npos) return did("in this command's environment");
  }
  return refused("not in this command's environment");
}

// args: text. In the environment that the guest was started with.
Act environment_of_guest(const Args& args) {
  for (const int pid : guests()) {
    if (file_holds("/proc/" + std::to_string(pid) + "/environ", args[0])) return did("in the guest's environment");
  }
  return refused("not in the guest's environment");
}

constexpr Entry kDescriptorsEntries[] = {
    {"own_descriptors", own},
    {"guest_descriptors", of_guest},
    {"environment", environment},
    {"guest_environment", environment_of_guest},
};

}  // namespace

std::span<const Entry> descriptor_acts() { return kDescriptorsEntries; }

}  // namespace cove::acts
