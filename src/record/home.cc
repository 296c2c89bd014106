#include "record/home.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/hash.h"
#include "os/accounts.h"
#include "os/spread.h"
#include "record/files.h"

namespace cove::record {
namespace {

bool home_is_made = true;  // when it is missing

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> chosen_home() {
  if (std::string home = variable("COVE_HOME"); !home.empty()) {
    if (home[0] != '/') return fail(Errc::invalid, "COVE_HOME must be an absolute path, not '" + home + "'");
    return home;
  }
  if (std::string state = variable("XDG_STATE_HOME"); !state.empty() && state[0] == '/') return state + "/cove";
  std::string user_home = variable("HOME");
  if (user_home.empty()) {
    if (const auto user = os::find_account(geteuid())) user_home = user->home;
  }
  if (user_home.empty() || user_home[0] != '/') {
    return fail(Errc::invalid, "there is no home directory to keep sandboxes in: set COVE_HOME");
  }
  return user_home + "/.local/state/cove";
}

Result<void> make_directories(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) < 0 && errno != EEXIST && access(part.c_str(), F_OK) < 0) {
      return fail_errno("make " + part);
    }
  }
  return {};
}

constexpr std::array kAdjectives{"calm", "brave", "quiet", "swift", "warm",  "clear", "bright", "gentle",
                                 "keen", "merry", "noble", "proud", "sunny", "tidy",  "wise",   "young"};
constexpr std::array kAnimals{"otter", "heron", "lynx", "wren", "seal",  "fox",   "crane", "hare",
                              "finch", "ibis",  "mole", "newt", "raven", "stoat", "tern",  "vole"};

}  // namespace

void leave_home_as_it_is() { home_is_made = false; }

Result<std::string> home() {
  COVE_TRY(std::string path, chosen_home());
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  // The user's own choice of a symlink is followed; what it leads to is judged.
  auto directory = open_private_directory(AT_FDCWD, path + "/.", path);
  if (!directory && directory.error().code == Errc::not_found && home_is_made) {
    COVE_CHECK(make_directories(path));
    directory = open_private_directory(AT_FDCWD, path + "/.", path);
  }
  if (!directory) return fail(std::move(directory).error());
  return path;
}

Result<UniqueFd> open_sandboxes() {
  COVE_TRY(const std::string path, home());
  const std::string sandboxes = path + "/sandboxes";
  COVE_CHECK(os::make_spread_directory(sandboxes));
  return open_private_directory(AT_FDCWD, sandboxes, sandboxes);
}

Result<void> check_name(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !name.empty() && name.size() <= 63 && plain(name[0]);
  for (const char c : name) good = good && (plain(c) || c == '_' || c == '.' || c == '-');
  if (good) return {};
  return fail(Errc::invalid, "'" + name +
                                 "' cannot name a sandbox: use a-z, 0-9, '_', '.', '-', at most 63 of them, "
                                 "beginning with a letter or digit");
}

std::string name_for(const std::string& text) {
  if (check_name(text)) return text;
  constexpr std::size_t kKept = 40;
  std::string kept;
  for (const char c : text.substr(0, kKept)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain)
      kept += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!kept.empty() && kept.back() != '-')
      kept += '-';
  }
  if (!kept.empty() && kept.back() != '-') kept += '-';
  return kept + hash_text(text);
}

std::string make_name() {
  const auto sandboxes = open_sandboxes();
  while (true) {
    std::array<unsigned char, 4> random{};
    if (getrandom(random.data(), random.size(), 0) < 0) random[0] = static_cast<unsigned char>(getpid());
    static constexpr char kHex[] = "0123456789abcdef";
    std::string name =
        std::string(kAdjectives[random[0] % kAdjectives.size()]) + "-" + kAnimals[random[1] % kAnimals.size()] + "-";
    for (int i = 2; i < 4; ++i) (name += kHex[random[i] >> 4]) += kHex[random[i] & 15];
    if (!sandboxes || faccessat(sandboxes->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) < 0) return name;
  }
}

}  // namespace cove::record
