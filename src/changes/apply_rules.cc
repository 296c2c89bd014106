#include <sys/stat.h>

#include <algorithm>

#include "changes/apply_plan.h"

namespace cove::changes {

bool leads_out(std::string_view target, std::size_t depth) {
  if (target.starts_with('/')) return true;
  bool named = false;
  while (!target.empty()) {
    const std::size_t size = std::min(target.find('/'), target.size());
    const std::string_view part = target.substr(0, size);
    target.remove_prefix(std::min(size + 1, target.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      named = true;
    } else if (named || depth-- == 0) {
      return true;
    }
  }
  return false;
}

std::string refusal(const std::string& path, const struct stat& info, const ApplyOptions& options) {
  if (path.starts_with(kAsidePrefix)) return "the name is reserved for what apply writes aside";
  if (S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode)) return "";
  if (S_ISFIFO(info.st_mode)) return "a fifo is not brought to the host";
  if (S_ISSOCK(info.st_mode)) return "a socket is not brought to the host";
  if (!S_ISREG(info.st_mode)) return "a device is not brought to the host";
  if (info.st_size < 0 || static_cast<std::uint64_t>(info.st_size) > options.most_bytes)
    return "it has " + std::to_string(info.st_size) + " bytes, more than is brought to the host";
  return "";
}

std::string lost_bits(const struct stat& info) {
  const bool user = (info.st_mode & S_ISUID) != 0, group = (info.st_mode & S_ISGID) != 0;
  if (!user && !group) return "";
  return std::string("its ") + (user ? "setuid" : "setgid") + (user && group ? " and setgid bits are" : " bit is") +
         " not brought to the host";
}

}  // namespace cove::changes
