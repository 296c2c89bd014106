#include "guest/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "guest/untouched.h"
#include "guest/users.h"
#include "os/own_memory.h"

namespace cove::guest {
namespace {

constexpr auto kLoginLimit = std::chrono::seconds(30);
constexpr int kBlankLimitMs = 10'000;
constexpr std::size_t kMostSpares = 3;
// Of one shell: each command costs it a little memory, and its text.
constexpr int kMostCommands = 64;
constexpr off_t kMostText = off_t{1} << 20;
constexpr off_t kMaxCapture = off_t{32} << 20;  // a larger state is not kept

// Whoever reads it has the same position.
bool append_memfd(int fd, std::string_view content) {
  struct stat info{};
  if (fstat(fd, &info) < 0) return false;
  for (off_t at = info.st_size; !content.empty();) {
    const ssize_t n = pwrite(fd, content.data(), content.size(), at);
    if (n <= 0) return false;
    at += n;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Result<UniqueFd> make_memfd(const char* name, std::string_view content) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd) return fail_errno("make a memory file");
  if (!append_memfd(fd.get(), content)) return fail_errno("write the session's state");
  return fd;
}

std::string read_memfd(int fd, std::size_t from) {
  struct stat info{};
  if (fstat(fd, &info) < 0 || info.st_size > kMaxCapture || info.st_size <= static_cast<off_t>(from)) return "";
  std::string content(static_cast<std::size_t>(info.st_size) - from, '\0');
  const ssize_t n = pread(fd, content.data(), content.size(), static_cast<off_t>(from));
  content.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return content;
}

// Adds what cannot be written as shell text, and the base names that the state has not (exported).
void complete_environment(std::vector<std::string>& env, const Session::Config& config) {
  const std::string home = os::find_env(config.env, "HOME");
  const std::array<std::string, 3> base{home.empty() ? "/" : home, config.program, "/usr/bin:/bin"};
  for (std::size_t i = 0; i < base.size(); ++i) {
    const std::string start = std::string(session::kBaseNames[i]) + "=";
    const auto has = [&](const std::string& entry) { return entry.compare(0, start.size(), start) == 0; };
    if (std::none_of(env.begin(), env.end(), has)) env.push_back(start + base[i]);
  }
  for (const std::string& entry : config.env) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (!session::is_identifier(name) && name.substr(0, 10) != "BASH_FUNC_") env.push_back(entry);
  }
}

// With what every session's shell has: its descriptors.
Result<void> launch(Trees& trees, Shell& shell, int state, os::ExecSpec spec) {
  COVE_TRY(shell.command, make_memfd("cove-command", ""));
  COVE_TRY(shell.capture, make_memfd("cove-capture", ""));
  std::array<int, 2> go{}, ready{};
  if (pipe2(go.data(), O_CLOEXEC) < 0) return fail_errno("make a pipe");
  const UniqueFd go_in(go[0]);
  shell.go.reset(go[1]);
  if (pipe2(ready.data(), O_CLOEXEC | O_NONBLOCK) < 0) return fail_errno("make a pipe");
  shell.news.reset(ready[0]);
  const UniqueFd ready_out(ready[1]);
  spec.fds = {{state, session::kStateFd},
              {go_in.get(), session::kGoFd},
              {shell.capture.get(), session::kCaptureFd},
              {ready_out.get(), session::kReadyFd},
              {shell.command.get(), session::kCommandFd}};
  COVE_TRY(shell.process, start_process(trees, std::move(spec), shell.plumbing));
  return {};
}

}  // namespace

Session::Session(Trees& trees, const Config& config) : trees_(trees), loop_(trees.loop), config_(config) {
  state_ = config.dialect->begin(config.env, config.cwd, config.login);
}

void Session::restore(session::State state) {
  drop_spares();
  state_ = std::move(state);
  ++version_;
}

void Session::files_will_move() {
  for (auto& shell : spares_) shell->steady = shell->ready;
}

// One that was starting meanwhile may have looked for its directory in vain, and complained about it.
void Session::files_moved() {
  std::optional<Plumbing> dropped;
  for (auto& shell : spares_) {
    shell->displaced = true;
    if (shell->steady || shell->reads_login) continue;
    dropped = shell->plumbing;
    drop(std::move(shell));
  }
  std::erase(spares_, nullptr);
  if (dropped) prepare(*dropped, Moment::command_ended);
}

void Session::renew() {
  if (!state_.from_login) drop_spares();
}

void Session::leave_out_idle(std::set<pid_t>& reapers) const {
  if (state_.from_login) return;
  for (const auto& shell : spares_) reapers.erase(shell->process.tree->reaper());
}

void Session::begin_anew() { restore(config_.dialect->begin(config_.env, config_.cwd, config_.login)); }

Session::~Session() { drop_spares(); }

// Nobody is told; the process tree ends with the object.
void Session::drop(std::unique_ptr<Shell> shell) {
  loop_.cancel(shell->login_limit);
  loop_.forget(shell->news.get());
}

void Session::drop_spares() {
  loop_.cancel(idle_);
  for (auto& shell : std::exchange(spares_, {})) drop(std::move(shell));
}

void Session::rest_later() {
  loop_.cancel(idle_);
  if (config_.keep_first && !used_) return;
  idle_ = loop_.after(config_.idle_shell, [this] {
    wanted_ = 1;
    drop_spares();
    os::give_memory_back();
  });
}

Result<std::unique_ptr<Shell>> Session::start_shell(const Plumbing& plumbing) {
  auto shell = std::make_unique<Shell>();
  shell->plumbing = plumbing;
  shell->version = version_;
  shell->reads_login = state_.from_login;
  session::Preload preload = config_.dialect->preload(state_);
  complete_environment(preload.env, config_);
  COVE_TRY(const UniqueFd state, make_memfd("cove-state", preload.text));
  os::ExecSpec spec;
  spec.program = config_.program;
  spec.argv = config_.dialect->argv();
  spec.env = std::move(preload.env);
  spec.cwd = state_.cwd;
  spec.nearest_cwd = true;
  spec.umask = state_.umask;
  if (!config_.user.empty()) {
    os::ExecSpec as;
    COVE_CHECK(become_user(as, config_.user));
    spec.switch_user = as.switch_user;
    spec.uid = as.uid;
    spec.gid = as.gid;
    spec.groups = as.groups;
  }
  COVE_CHECK(launch(trees_, *shell, state.get(), std::move(spec)));
  watch_ready(*shell);
  return shell;
}

Result<BlankShell> start_blank_shell(Trees& trees, const Session::Config& config) {
  if (config.dialect->blank_argv().empty()) return fail(Errc::unsupported, "this shell is told its state at its start");
  BlankShell blank{std::make_unique<Shell>(), UniqueFd()};
  COVE_TRY(blank.state, make_memfd("cove-state", config.dialect->blank_beginning()));
  os::ExecSpec spec;
  spec.program = config.program;
  spec.argv = config.dialect->blank_argv();
  spec.umask = session::State().umask;
  spec.env.emplace_back(session::kUsualLocale);
  complete_environment(spec.env, config);
  COVE_CHECK(launch(trees, *blank.shell, blank.state.get(), std::move(spec)));
  pollfd started{blank.shell->news.get(), POLLIN, 0};
  char byte = 0;
  if (poll(&started, 1, kBlankLimitMs) != 1 || read(started.fd, &byte, 1) != 1)
    return fail(Errc::timeout, "the shell does not start");
  return blank;
}

// What such a shell cannot be told: who it is, what no shell text can say, and a directory that is not there.
bool Session::can_form_blank() const {
  const auto is_told = [](const std::string& entry) {
    return session::is_identifier(entry.substr(0, entry.find('=')));
  };
  return config_.user.empty() && state_.umask == session::State().umask && access(state_.cwd.c_str(), X_OK) == 0 &&
         std::all_of(config_.env.begin(), config_.env.end(), is_told);
}

void Session::form(BlankShell blank) {
  Shell& shell = *blank.shell;
  std::uint32_t seed = 0;
  if (!can_form_blank() || getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) return;
  const std::string text = config_.dialect->blank_rest(state_, seed);
  if (!append_memfd(blank.state.get(), text) || write(shell.go.get(), "\n", 1) != 1) return;
  shell.version = version_;
  shell.reads_login = state_.from_login;
  watch_ready(shell);
  spares_.push_back(std::move(blank.shell));
}

void Session::watch_ready(Shell& shell) {
  loop_.watch(shell.news.get(), EPOLLIN, [this, &shell](std::uint32_t) {
    char byte = 0;
    const bool ready = read(shell.news.get(), &byte, 1) == 1;
    loop_.forget(shell.news.get());
    loop_.cancel(shell.login_limit);
    if (ready)
      on_ready(shell);
    else if (shell.reads_login)
      login_failed();
  });
  if (!shell.reads_login) return;
  shell.login_limit = loop_.after(kLoginLimit, [this] { login_failed(); });
}

// The login files have been read, once for the whole session: what they left becomes the state.
void Session::on_ready(Shell& shell) {
  shell.ready = true;
  if (!shell.reads_login) return;
  const std::string capture = read_memfd(shell.capture.get(), 0);
  shell.capture_start = capture.size();
  if (auto captured = config_.dialect->read_capture(capture, state_, true))
    state_ = std::move(*captured);
  else
    state_ = config_.dialect->begin(config_.env, config_.cwd, false);
  state_.from_login = shell.reads_login = false;
  state_.last_status = 0;
  rest_later();
  run_waiting();
}

// A profile that exits, hangs or replaces the shell costs what it would have set, and nothing else.
void Session::login_failed() {
  drop_spares();
  state_ = config_.dialect->begin(config_.env, config_.cwd, false);
  ++version_;
  run_waiting();
}

void Session::run_waiting() {
  for (Request& request : std::exchange(waiting_, {})) run(std::move(request));
}

bool Session::cancel(std::uint32_t id) {
  return std::erase_if(waiting_, [&](const Request& request) { return request.id == id; }) > 0;
}

bool Session::fits(const Shell& shell, const Plumbing& plumbing) const {
  return shell.version == version_ && shell.plumbing.same_pipes(plumbing) && !shell.process.tree->main_exited();
}

std::unique_ptr<Shell> Session::take_spare(const Plumbing& plumbing) {
  std::unique_ptr<Shell>* best = nullptr;
  for (auto& shell : spares_) {
    if (fits(*shell, plumbing) && (best == nullptr || !(*best)->ready)) best = &shell;
  }
  if (best == nullptr) return nullptr;
  auto taken = std::move(*best);
  std::erase(spares_, nullptr);
  if (!taken->ready && paced_) wanted_ = std::min(wanted_ + 1, kMostSpares);
  if (taken->ready && spares_.size() >= wanted_) wanted_ = std::max(wanted_ - 1, std::size_t{1});
  return taken;
}

void Session::run(Request request) {
  used_ = true;
  if (state_.from_login) {
    waiting_.push_back(std::move(request));
    if (spares_.empty()) prepare(waiting_.back().plumbing, Moment::command_ended);
    return;
  }
  if (!settled()) return waiting_.push_back(std::move(request));
  if (auto shell = take_spare(request.plumbing)) return give(std::move(shell), std::move(request));
  auto shell = start_shell(request.plumbing);
  if (!shell) return request.started(fail(std::move(shell).error()));
  give(std::move(*shell), std::move(request));
}

void Session::give(std::unique_ptr<Shell> shell, Request request) {
  const std::string text = config_.dialect->command({.script = request.script,
                                                     .cwd = request.cwd,
                                                     .last_status = state_.last_status,
                                                     .again = shell->displaced ? state_.cwd : ""});
  ++shell->commands;
  if (!append_memfd(shell->command.get(), text)) return request.started(fail_errno("hand the command to the shell"));
  loop_.forget(shell->news.get());
  if (write(shell->go.get(), "\n", 1) != 1) {
    // It was killed while it waited; the command has provably not begun, so another shell may have it.
    if (errno == EPIPE && std::exchange(shell->ready, false)) return run(std::move(request));
    return request.started(fail_errno("start the command"));
  }
  shell->apart = request.apart;
  request.started(std::move(shell));
}

std::optional<session::Ending> Session::ending(const Shell& shell) {
  auto ending = config_.dialect->read_ending(read_memfd(shell.capture.get(), shell.capture_start));
  if (ending) ++settling_;
  return ending;
}

void Session::settle() {
  if (--settling_ == 0) run_waiting();
}

bool Session::finish(const Shell& shell, int status, bool own_cwd) {
  if (shell.apart) return false;
  const std::string capture = read_memfd(shell.capture.get(), shell.capture_start);
  auto state = config_.dialect->read_capture(capture, state_, own_cwd);
  const bool current = state && config_.dialect->is_as_before(capture) && (!own_cwd || moved_nothing(capture, *state));
  if (state) {
    state_is_calm_ = state->variables == state_.variables && state->text == state_.text && state->cwd == state_.cwd &&
                     state->umask == state_.umask;
    if (!state_is_calm_) ++version_;
    state_ = *std::move(state);
  }
  state_.last_status = status;
  paced_ = true;
  return current;
}

// A command with a directory of its own was in the session's, and stayed there.
bool Session::moved_nothing(std::string_view capture, const session::State& state) const {
  const auto whole = config_.dialect->read_capture(capture, state_, false);
  return whole && whole->cwd == state.cwd && whole->variables == state.variables;
}

bool Session::can_take_back(const Shell& shell, const Process& process) const {
  struct stat text{};
  const bool is_small =
      shell.commands < kMostCommands && fstat(shell.command.get(), &text) == 0 && text.st_size < kMostText;
  return spares_.size() <= wanted_ && is_small && !shell.plumbing.with_stdin && !process.pty &&
         is_untouched(process, shell.go.get(), trees_, state_.cwd);
}

void Session::take_back(std::unique_ptr<Shell> shell) {
  // Whoever writes it has the same position.
  if (ftruncate(shell->capture.get(), 0) < 0 || lseek(shell->capture.get(), 0, SEEK_SET) < 0) return;
  shell->capture_start = 0;
  shell->version = version_;
  shell->ready = true;
  shell->displaced = shell->steady = false;
  spares_.push_back(std::move(shell));
}

bool Session::preparing() const {
  return std::any_of(spares_.begin(), spares_.end(),
                     [](const auto& shell) { return !shell->ready && !shell->process.tree->main_exited(); });
}

void Session::prepare(const Plumbing& plumbing, Moment moment) {
  if (plumbing.pty) return;
  if (moment == Moment::command_started && (wanted_ == 1 || !state_is_calm_)) return;
  for (auto& shell : spares_) {
    if (!fits(*shell, plumbing)) drop(std::move(shell));
  }
  std::erase(spares_, nullptr);
  while (spares_.size() < (state_.from_login ? 1 : wanted_)) {
    auto shell = start_shell(plumbing);
    if (!shell) break;
    spares_.push_back(std::move(*shell));
  }
  if (state_.from_login && spares_.empty()) return login_failed();
  if (!state_.from_login) rest_later();
}

}  // namespace cove::guest
