// Files of the host that nobody gave to the sandbox.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "record/home.h"
#include "selftest/digest.h"
#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kReadGroup = "read host files";

Verdict read_at(Stage& stage, const std::string& path) {
  if (path.empty()) return not_applicable("no bait could be laid there");
  return judge_secret(stage.shell("cat " + session::quote(path)), stage.bait().secret());
}

Verdict read_private(Stage& stage) { return read_at(stage, stage.bait().own() + "/secret"); }
Verdict read_shm(Stage& stage) { return read_at(stage, stage.bait().in_shm()); }
Verdict read_var_tmp(Stage& stage) { return read_at(stage, stage.bait().in_var_tmp()); }

Verdict read_home(Stage& stage) {
  if (stage.bait().home().empty()) return not_applicable("the user has no home that can be written to");
  return read_at(stage, stage.bait().home() + "/secret");
}

Verdict list_home(Stage& stage) {
  const std::string& home = stage.bait().home();
  if (home.empty()) return not_applicable("the user has no home that can be written to");
  const std::string parent = home.substr(0, home.rfind('/') + 1);
  const Ran ran = stage.shell("ls -a " + session::quote(parent));
  const bool seen = ran.output.find(stage.bait().token()) != std::string::npos;
  return judge_outside(ran, seen, "the names in the user's home can be seen");
}

Verdict by_dots(Stage& stage) {
  std::string up;
  for (int i = 0; i < 32; ++i) up += "../";
  return judge_secret(stage.shell("cat " + session::quote(up + stage.bait().own().substr(1) + "/secret")),
                      stage.bait().secret());
}

Verdict search(Stage& stage) {
  const std::string& own = stage.bait().own();
  return stage.tried({"search", own.substr(own.rfind('/') + 1)});
}

Verdict same_content(const Ran& ran) {
  if (auto verdict = untried(ran)) return *verdict;
  if (ran.code != 0) return held(clean_line(ran.output));
  std::istringstream lines(ran.output);
  for (std::string digest, path; lines >> digest && std::getline(lines >> std::ws, path);) {
    if (digest == digest_of(host_content(path).substr(0, 1 << 20))) return broken(path + " of the host can be read");
    if (access(path.c_str(), R_OK) < 0) return broken(path + " can be read, which the user cannot");
  }
  return held("the sandbox has others of these names");
}

// Whatever in /etc is not for everybody: password hashes, keys of the ssh server.
Verdict read_guarded(Stage& stage) {
  std::vector<std::string> words{"digests"};
  std::error_code ignored;
  for (auto it = std::filesystem::recursive_directory_iterator(
           "/etc", std::filesystem::directory_options::skip_permission_denied, ignored);
       it != std::filesystem::recursive_directory_iterator() && words.size() < 500; it.increment(ignored)) {
    struct stat info{};
    if (lstat(it->path().c_str(), &info) < 0 || !S_ISREG(info.st_mode) || (info.st_mode & S_IROTH) != 0) continue;
    if (info.st_size > 0) words.push_back(it->path());
  }
  if (words.size() == 1) return not_applicable("every file in /etc is open to everybody");
  return same_content(stage.act(words));
}

Verdict read_shadow(Stage& stage) {
  if (access("/etc/shadow", F_OK) < 0) return not_applicable("the host has no /etc/shadow");
  return same_content(stage.act({"digests", "/etc/shadow"}));
}

Verdict read_disks(Stage& stage) {
  std::vector<std::string> words{"open_disks"};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    if (entry.is_block_file(ignored)) words.push_back(entry.path());
  }
  if (words.size() == 1) return not_applicable("the host shows no disks");
  return stage.tried(words);
}

// The keeper's directory: what is in it decides about the sandbox.
Verdict read_record(Stage& stage) {
  const auto home = record::home();
  auto place = stage.inside();
  if (!home || !place) return broken("could not be tried: no record");
  const Ran ran = stage.shell("ls " + session::quote(*home + "/sandboxes"));
  const bool seen = ran.output.find((*place)->sandbox().name()) != std::string::npos;
  return judge_outside(ran, seen, "the keeper's own directory can be read");
}

constexpr Attempt kReadAttempts[] = {
    {"read_private_file", kReadGroup, "read a file that only the user may read", {}, read_private},
    {"read_home_file", kReadGroup, "read a file in the user's home that is open to everybody", {}, read_home},
    {"list_home", kReadGroup, "list the user's home", {}, list_home},
    {"read_shm_file", kReadGroup, "read a file in the host's /dev/shm", {}, read_shm},
    {"read_var_tmp_file", kReadGroup, "read a file in the host's /var/tmp", {}, read_var_tmp},
    {"read_by_dots", kReadGroup, "climb out of the working directory by ..", {}, by_dots},
    {"search_everywhere", kReadGroup, "look for a host directory in everything that can be seen", {}, search},
    {"read_shadow", kReadGroup, "read the host's password hashes", {}, read_shadow},
    {"read_guarded_etc", kReadGroup, "read what in /etc is not open to everybody", {}, read_guarded},
    {"read_host_disks", kReadGroup, "open the host's disks", {}, read_disks},
    {"read_keeper_record", kReadGroup, "read the directory from which this sandbox is governed", {}, read_record},
};

}  // namespace

std::span<const Attempt> read_attempts() { return kReadAttempts; }

}  // namespace cove::selftest
