#include "backend/engine/program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "backend/engine/explain.h"

extern char** environ;

namespace cove::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 4> kUsualPlaces{"/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/snap/bin"};

// Which engine answers, and with which storage.
constexpr std::array<std::string_view, 5> kAddress{"DOCKER_", "CONTAINER_", "CONTAINERS_", "PODMAN_", "STORAGE_"};
// What else an engine's client needs of this environment. Nothing of it reaches a container.
constexpr std::array<std::string_view, 20> kPassed{"PATH",
                                                   "HOME",
                                                   "USER",
                                                   "LOGNAME",
                                                   "TMPDIR",
                                                   "XDG_RUNTIME_DIR",
                                                   "XDG_CONFIG_HOME",
                                                   "XDG_DATA_HOME",
                                                   "XDG_CACHE_HOME",
                                                   "DBUS_SESSION_BUS_ADDRESS",
                                                   "REGISTRY_AUTH_FILE",
                                                   "SSH_AUTH_SOCK",
                                                   "TZ",
                                                   "HTTP_PROXY",
                                                   "HTTPS_PROXY",
                                                   "NO_PROXY",
                                                   "ALL_PROXY",
                                                   "http_proxy",
                                                   "https_proxy",
                                                   "no_proxy"};

bool is_address(std::string_view entry) {
  return std::any_of(kAddress.begin(), kAddress.end(), [&](auto prefix) { return entry.starts_with(prefix); });
}

bool is_passed(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::find(kPassed.begin(), kPassed.end(), name) != kPassed.end();
}

bool is_program(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

std::string on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string candidate = std::string(rest.substr(0, end)) + "/" + name;
    if (candidate.starts_with('/') && is_program(candidate)) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string_view place : kUsualPlaces) {
    std::string candidate = std::string(place) + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  return "";
}

Result<UniqueFd> memory_file() {
  UniqueFd file(memfd_create("cove-engine", MFD_CLOEXEC));
  if (!file) return fail_errno("make a file in memory");
  return file;
}

std::string read_back(int file) {
  std::string text(kMostSaid, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = pread(file, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  text.shrink_to_fit();
  return text;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Deadline call_deadline() {
  const char* given = std::getenv("COVE_ENGINE_TIMEOUT");
  const long seconds = given != nullptr ? std::strtol(given, nullptr, 10) : 0;
  return Deadline::after(std::chrono::seconds(seconds > 0 && seconds < 86'400 ? seconds : 60));
}

Result<Said> Call::wait(Deadline deadline) {
  auto status = child_.wait(deadline);
  if (!status) {
    [[maybe_unused]] const auto killed = child_.signal(SIGKILL);
    [[maybe_unused]] const auto reaped = child_.wait(Deadline::after(5s));
    return fail(Errc::timeout, "'" + shown_ + "' has not answered in time: see whether the engine hangs ('" +
                                   shown_.substr(0, shown_.find(' ')) +
                                   " info'); COVE_ENGINE_TIMEOUT sets how many seconds it may take");
  }
  return Said{status->code, read_back(out_.get()), read_back(err_.get())};
}

Result<Program> Program::find(const std::string& kind, const std::string& wanted) {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (is_address(*entry)) variables.emplace_back(*entry);
  }
  if (wanted.find('/') != std::string::npos) {
    if (!wanted.starts_with('/')) return fail(Errc::invalid, "--engine " + wanted + ": give an absolute path");
    if (!is_program(wanted)) return fail(Errc::not_found, "--engine " + wanted + ": there is no such program");
    return Program(kind, wanted, variables);
  }
  const std::string name = wanted.empty() ? kind : wanted;
  const std::string path = on_path(name);
  if (!path.empty()) return Program(kind, path, variables);
  return fail(Errc::unsupported, name + " is not installed here: install it, or name its program with --engine PATH");
}

Program::Program(std::string kind, std::string path, const std::vector<std::string>& variables)
    : kind_(std::move(kind)), path_(std::move(path)), address_(variables) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (is_passed(*entry)) env_.emplace_back(*entry);
  }
  env_.insert(env_.end(), address_.begin(), address_.end());
  env_.emplace_back("LC_ALL=C");
  std::sort(address_.begin(), address_.end());
}

std::string Program::value(std::string_view variable) const { return os::find_env(env_, variable); }

os::ExecSpec Program::spec(const std::vector<std::string>& args) const {
  os::ExecSpec exec;
  exec.program = path_;
  exec.argv = {path_};
  exec.argv.insert(exec.argv.end(), args.begin(), args.end());
  exec.env = env_;
  exec.cwd = "/";
  exec.new_session = true;
  return exec;
}

Result<os::Child> Program::attach(const std::vector<std::string>& args, int socket, int err) const {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  os::ExecSpec exec = spec(args);
  exec.fds = {{socket, 0}, {socket, 1}, {err < 0 ? null.get() : err, 2}};
  return os::Child::spawn(exec);
}

Result<Call> Program::begin(const std::vector<std::string>& args) const {
  COVE_TRY(UniqueFd out, memory_file());
  COVE_TRY(UniqueFd err, memory_file());
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  os::ExecSpec exec = spec(args);
  exec.fds = {{null.get(), 0}, {out.get(), 1}, {err.get(), 2}};
  auto child = os::Child::spawn(exec);
  if (!child) return fail(std::move(child).error().because("run " + path_));
  return Call(kind_ + " " + (args.empty() ? "" : args[0]), std::move(*child), std::move(out), std::move(err));
}

Result<Said> Program::run(const std::vector<std::string>& args, Deadline deadline) const {
  COVE_TRY(Call call, begin(args));
  return call.wait(deadline);
}

Result<std::string> Program::ask(const std::vector<std::string>& args, Deadline deadline) const {
  COVE_TRY(Said said, run(args, deadline));
  if (said.code != 0) return fail(explain(*this, args, said));
  while (said.out.ends_with('\n')) said.out.pop_back();
  return std::move(said.out);
}

}  // namespace cove::engine
