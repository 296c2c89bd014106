#include "backend/gvisor/program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backend/gvisor/launch.h"
#include "os/child.h"
#include "record/files.h"
#include "record/record.h"

namespace cove::gvisor {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr const char* kCache = "gvisor.json";
constexpr auto kTry = 20s;

// What a finding is about: another program, another kernel or another user may give another one.
std::string stamp_of(const std::string& path) {
  struct stat info{};
  utsname kernel{};
  if (stat(path.c_str(), &info) < 0 || uname(&kernel) < 0) return "";
  return path + " " + std::to_string(info.st_mtim.tv_sec) + " " + std::to_string(info.st_size) + " " + kernel.release +
         " " + std::to_string(geteuid());
}

Result<UniqueFd> open_cache() {
  COVE_TRY(const std::string home, record::home());
  const UniqueFd at(open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return fail_errno("open " + home);
  if (mkdirat(at.get(), "cache", 0700) < 0 && errno != EEXIST) return fail_errno("make " + home + "/cache");
  return record::open_private_directory(at.get(), "cache", home + "/cache");
}

std::optional<Program> recall(const std::string& path) {
  const auto cache = open_cache();
  const auto text = cache ? record::read_file_at(cache->get(), kCache) : Result<std::string>(fail(Errc::not_found, ""));
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object() || json.value("stamp", Json("")) != Json(stamp_of(path))) return std::nullopt;
  for (const char* key : {"version", "platform"}) {
    if (!json.contains(key) || !json[key].is_string()) return std::nullopt;
  }
  Program program{.path = path, .version = json["version"], .platform = json["platform"]};
  if (json.contains("restores")) program.restores = json["restores"] == Json(true);
  program.knows_statx = json.value("knows_statx", Json(false)) == Json(true);
  return program;
}

Result<std::string> read_version(const std::string& path, Deadline deadline) {
  const UniqueFd said(memfd_create("cove-runsc-version", MFD_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  os::ExecSpec exec;
  exec.program = path;
  exec.argv = {"runsc", "--version"};
  exec.fds = {{null.get(), 0}, {said.get(), 1}, {null.get(), 2}};
  COVE_TRY(os::Child child, os::Child::spawn(exec));
  COVE_TRY(const os::ExitStatus status, child.wait(earlier(deadline, Deadline::after(5s))));
  std::array<char, 256> text{};
  const ssize_t n = pread(said.get(), text.data(), text.size(), 0);
  std::string line(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  line = line.substr(0, line.find('\n'));
  if (status.code != 0 || !line.starts_with("runsc version "))
    return fail(Errc::unsupported, path + " does not say its version as runsc does");
  return line.substr(std::string("runsc version ").size());
}

// A program run once on a kernel of its own, in the namespaces that sandboxes get.
Result<void> try_program(const std::string& path, const std::string& platform, const std::vector<std::string>& line,
                         Deadline deadline) {
  RunscPlan plan;
  plan.probes = true;
  plan.disk_bytes = std::uint64_t{1} << 20;
  const os::Users users = os::find_users();
  plan.drop_groups = users.by_root || users.more_gids.count > 0;
  plan.line = {"runsc",
               "--root=/tmp",
               "--log-fd=" + std::to_string(kLogFd),
               "--log-format=json",
               "--platform=" + platform,
               "--network=none",
               "--ignore-cgroups",
               "do"};
  plan.line.insert(plan.line.end(), line.begin(), line.end());
  COVE_TRY(Launched tried, launch(plan, path, users, Network::own, nullptr, deadline));
  const auto status = tried.child.wait(earlier(deadline, Deadline::after(kTry)));
  if (status && status->code == 0) return {};
  native::StepFailure failure{};
  if (read(tried.sync.get(), &failure, sizeof(failure)) == sizeof(failure)) return fail(explain(failure, plan));
  const std::string words = last_words(tried.log.get());
  return fail(Errc::unsupported, "runsc --platform=" + platform + " does not run here: " +
                                     (!status         ? status.error().message
                                      : words.empty() ? status->text()
                                                      : words));
}

}  // namespace

void remember(const Program& program) {
  Json json{{"stamp", stamp_of(program.path)},
            {"version", program.version},
            {"platform", program.platform},
            {"knows_statx", program.knows_statx}};
  if (program.restores) json["restores"] = *program.restores;
  if (const auto cache = open_cache()) [[maybe_unused]]
    const auto written = record::write_file_at(cache->get(), kCache, json.dump());
}

Result<std::string> find_runsc() {
  std::string all;
  if (const char* named = std::getenv("COVE_RUNSC"); named != nullptr && *named != '\0') return std::string(named);
  if (const char* path = std::getenv("PATH")) all = path;
  all += ":/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin";
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    std::string candidate = all.substr(at, end - at) + "/runsc";
    if (candidate.starts_with('/') && access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return fail(Errc::not_found,
              "there is no runsc on PATH: install gVisor (Debian: apt install runsc), or name it in COVE_RUNSC");
}

Result<Program> probe_runsc(Deadline deadline) {
  COVE_TRY(const std::string path, find_runsc());
  if (auto known = recall(path)) return std::move(*known);
  Program program{.path = path};
  COVE_TRY(program.version, read_version(path, deadline));
  Result<void> tried;
  for (const char* platform : {"systrap", "ptrace"}) {
    tried = try_program(path, platform, {"/bin/true"}, deadline);
    if (!tried) continue;
    program.platform = platform;
    program.knows_statx = try_program(path, platform, {"/usr/bin/stat", "/"}, deadline).has_value();
    remember(program);
    return program;
  }
  return fail(std::move(tried).error());
}

}  // namespace cove::gvisor
