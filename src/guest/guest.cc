#include "guest/guest.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "guest/connect.h"
#include "guest/files.h"
#include "guest/users.h"
#include "os/descendants.h"

namespace cove::guest {
namespace {

using proto::GuestType;

// In a session's saved form the shell text is only good for the dialect that wrote it.
struct SavedState {
  std::string dialect, cwd, variables, text;
  std::uint32_t umask = 022;
  std::int32_t last_status = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.dialect, s.cwd, s.variables, s.text, s.umask, s.last_status);
  }
};

UniqueFd watch_children() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// As the first process of a sandbox with a limit on processes it has a few more than its commands, so that those cannot
// keep it from starting another one: the soft limit is theirs, the hard one is its own.
rlim_t take_reserve() {
  rlimit given{};
  if (getpid() != 1 || getrlimit(RLIMIT_NPROC, &given) < 0 || given.rlim_cur >= given.rlim_max) return RLIM_INFINITY;
  const rlimit own{given.rlim_max, given.rlim_max};
  return setrlimit(RLIMIT_NPROC, &own) == 0 ? given.rlim_cur : RLIM_INFINITY;
}

// A dozen descriptors for each command and each shell that waits: the usual limit is met by a hundred of them.
rlim_t take_files() {
  rlimit given{};
  if (getrlimit(RLIMIT_NOFILE, &given) < 0 || given.rlim_cur >= given.rlim_max) return RLIM_INFINITY;
  const rlimit own{given.rlim_max, given.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &own) == 0 ? given.rlim_cur : RLIM_INFINITY;
}

bool is_program(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// What an image names, else /workspace, else where its user is at home.
std::string own_directory() {
  char path[4096];
  if (getcwd(path, sizeof(path)) != nullptr && std::string_view(path) != "/") return path;
  const char* home = getenv("HOME");
  return access("/workspace", W_OK | X_OK) == 0 || home == nullptr ? "/workspace" : home;
}

}  // namespace

Guest::Guest(UniqueFd in, UniqueFd out, UniqueFd listener, Clock::duration first_visit)
    : children_(watch_children()),
      channel_(loop_, std::move(in), std::move(out), std::move(listener), first_visit,
               {.message = [this](const proto::Message& message) { return handle(message); },
                .room =
                    [this] {
                      for (auto& [id, command] : commands_) command->resume();
                    }}) {
  // Orphans of a reaper that was killed come to us.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  loop_.watch(children_.get(), EPOLLIN, [this](std::uint32_t) { reap(); });
  trees_.most_processes = take_reserve();
  trees_.soft_files = take_files();
}

Guest::Guest(Ports ports, std::string command_groups)
    : Guest(std::move(ports.channel), UniqueFd(), UniqueFd(), Clock::duration::zero()) {
  trees_.cgroup = std::move(command_groups);
  disk_ = std::move(ports.disk);
  channel_.expect("");
  machine_.emplace(loop_, std::move(ports.control),
                   Machine::Events{.ready = [this] { warm_up(); },
                                   .renewed = [this](const std::string& mark) { begin_stream(mark); }});
}

Guest::~Guest() = default;

// What every machine needs first is read into its memory once, before that is saved for all: the shell's files, and the
// shell itself, as far as it is the same for everybody.
void Guest::warm_up() {
  config_.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"};
  find_shell();
  if (config_.dialect == nullptr) return;
  if (auto started = start_blank_shell(trees_, config_)) blank_ = std::move(*started);
}

// Only in a machine of our own is the count about what we started.
bool Guest::memory_ran_out() {
  const std::uint64_t before = memory_kills_;
  if (machine_) memory_kills_ = count_memory_kills();
  return memory_kills_ > before;
}

// A machine can end at any moment without its kernel's knowledge: with its keeper.
void Guest::keep_files() {
  if (disk_) syncfs(disk_.get());
}

// Shells that wait were made by another machine, as it were: with the same random numbers as its own.
void Guest::begin_stream(const std::string& mark) {
  for (const auto& [name, session] : sessions_) session->renew();
  channel_.expect(mark);
}

int Guest::run() {
  while (!channel_.over()) {
    loop_.turn();
    sweep();
    answer_states();
    channel_.flush();
    let_go();
    for (const ShellUse& use : std::exchange(to_prepare_, {})) use.session->prepare(use.plumbing, use.moment);
    answer_hello();
  }
  say_goodbye();
  if (getpid() == 1 && !machine_) _exit(channel_.broken() ? 1 : 0);  // the kernel ends everything else at once
  commands_.clear();
  sessions_.clear();
  [[maybe_unused]] const auto ended = os::kill_descendants(getpid(), Deadline::after(std::chrono::seconds(5)));
  return channel_.broken() ? 1 : 0;
}

// A moment to put things in order: a profile that is cut off in the middle may leave its locks behind. Shells that wait
// have nothing to do.
void Guest::say_goodbye() {
  std::set<pid_t> busy = trees_.reapers;
  for (const auto& [name, session] : sessions_) session->leave_out_idle(busy);
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(500));
  std::set<os::Told> told;
  for (useconds_t pause = 50; !deadline.passed(); pause = std::min<useconds_t>(2 * pause, 1000)) {
    std::size_t left = 0;
    for (const pid_t reaper : busy) {
      os::terminate_newcomers(reaper, told);
      left += os::descendants(reaper).size();
    }
    if (left == 0) return;
    usleep(pause);
  }
}

// Reapers that have ended, and whatever else a subreaper inherits.
void Guest::reap() {
  signalfd_siginfo info{};
  while (read(children_.get(), &info, sizeof(info)) > 0) {}
  int status = 0;
  while (true) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
  }
}

// Shells that waited until their commands' ends were told.
void Guest::let_go() {
  for (const std::uint32_t id : std::exchange(to_let_go_, {})) {
    if (const auto found = commands_.find(id); found != commands_.end()) found->second->let_go();
  }
}

void Guest::sweep() {
  for (const std::uint32_t id : gone_) commands_.erase(id);
  gone_.clear();
}

Result<void> Guest::handle(const proto::Message& message) {
  if (message.type > static_cast<std::uint8_t>(last(GuestType{}))) return fail(Errc::protocol, "unknown message");
  const auto type = static_cast<GuestType>(message.type);
  if (type == GuestType::hello) {
    COVE_TRY(const auto hello, proto::decode<proto::KeeperHello>(message.payload));
    return on_hello(hello);
  }
  if (!greeted_) return fail(Errc::protocol, "hello comes first");
  if (type == GuestType::start) {
    COVE_TRY(const auto start, proto::decode<proto::Start>(message.payload));
    return on_start(message.id, start);
  }
  if (type == GuestType::ping) {
    proto::append_message(channel_.out(), static_cast<std::uint8_t>(GuestType::pong), message.id, message.payload);
    return {};
  }
  if (type == GuestType::ack) {
    COVE_TRY(const auto ack, proto::decode<proto::Ack>(message.payload));
    return channel_.acknowledge(ack.received);
  }
  if (type == GuestType::session_state) {
    COVE_TRY(const auto asked, proto::decode<proto::SessionState>(message.payload));
    states_asked_.push_back(asked.session);
    return {};
  }
  if (type == GuestType::files_moved) {
    for (const auto& [name, session] : sessions_) session->files_moved();
    return {};
  }
  if (type == GuestType::restore_session) {
    COVE_TRY(const auto saved, proto::decode<proto::SessionState>(message.payload));
    return restore(saved);
  }
  // The rest is about a command, which may have gone meanwhile.
  const auto found = commands_.find(message.id);
  if (found == commands_.end()) return {};
  Command& command = *found->second;
  switch (type) {
    case GuestType::stdin_data: command.stdin_data(message.payload); return {};
    case GuestType::stdin_eof: command.stdin_eof(); return {};
    case GuestType::forget: command.forget(); return {};
    case GuestType::output_credit: {
      COVE_TRY(const auto credit, proto::decode<proto::Credit>(message.payload));
      command.output_credit(credit.bytes);
      return {};
    }
    case GuestType::signal: {
      COVE_TRY(const auto signal, proto::decode<proto::Signal>(message.payload));
      command.signal(signal);
      return {};
    }
    case GuestType::resize: {
      COVE_TRY(const auto size, proto::decode<proto::Resize>(message.payload));
      command.resize(size);
      return {};
    }
    default: return fail(Errc::protocol, "a message that only guests send");
  }
}

Result<void> Guest::on_hello(const proto::KeeperHello& hello) {
  if (hello.version != proto::kVersion || hello.resume != greeted_) {
    return fail(Errc::protocol, "hello of another version, or out of turn");
  }
  if (hello.resume) hello_due_ = false;
  if (hello.resume) return channel_.resume(hello.received, greeting());
  greeted_ = true;
  if (!hello.cgroup.empty()) trees_.cgroup = hello.cgroup;
  config_.unsaved = hello.unsaved;
  config_.env = hello.env;
  if (hello.inherits) inherit();
  config_.cwd = !hello.cwd.empty() ? hello.cwd : hello.inherits ? own_directory() : os::find_env(hello.env, "HOME");
  if (config_.cwd.empty()) config_.cwd = "/";
  config_.login = hello.login;
  become_default_user(hello.user);
  config_.idle_shell = std::chrono::milliseconds(hello.idle_shell_ms);
  const std::string blank_program = config_.program;
  find_shell();
  channel_.may_reconnect(std::chrono::milliseconds(hello.reconnect_ms));
  config_.keep_first = hello.prepared;
  hello_due_ = hello.prepared;
  if (!hello_due_) channel_.send_hello(greeting());
  if (config_.dialect == nullptr) return {};
  Plumbing likely{.split = hello.split};
  if (blank_ && config_.program == blank_program) {
    likely = blank_->shell->plumbing;  // it cannot be changed any more, and is there
    session("").form(*std::exchange(blank_, std::nullopt));
  }
  blank_.reset();
  shell_used(session(""), likely, Session::Moment::command_ended);
  return {};
}

void Guest::inherit() {
  const auto add = [&](std::string_view key, std::string_view entry) {
    for (const std::string& known : config_.env) {
      if (known.size() > key.size() && known.starts_with(key) && known[key.size()] == '=') return;
    }
    config_.env.emplace_back(entry);
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos) add(text.substr(0, equals), text);
  }
  add("PATH", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  add("HOME", geteuid() == 0 ? "HOME=/root" : "HOME=/");
  if (geteuid() == 0) add("USER", "USER=root");
  add("SHELL", is_program("/bin/bash") ? "SHELL=/bin/bash" : "SHELL=/bin/sh");
  if (os::find_env(config_.env, "LANG").empty() && os::find_env(config_.env, "LC_ALL").empty())
    add("LC_CTYPE", session::kUsualLocale);
  mkdir("/workspace", 0755);  // where sessions start; not everybody may make it
}

// Of a sandbox that is asked to be prepared not before its first shell is ready, or has failed.
void Guest::answer_hello() {
  if (!hello_due_) return;
  const auto found = sessions_.find("");
  if (found != sessions_.end() && found->second->preparing()) return;
  hello_due_ = false;
  channel_.send_hello(greeting());
  channel_.flush();
}

proto::GuestHello Guest::greeting() const {
  return {.pid = static_cast<std::uint32_t>(getpid()),
          .shell = config_.dialect == nullptr ? "" : std::string(config_.dialect->name())};
}

// A user that the sandbox's own map of ids has no number for cannot be anybody: then it is root, as without a user.
void Guest::become_default_user(const std::string& user) {
  os::ExecSpec as;
  as.env = config_.env;
  if (user.empty() || !become_user(as, user) || !is_mapped(as.uid) || !is_mapped(as.gid)) return;
  const bool own_home = os::find_env(config_.env, "HOME") != "/root";
  const std::string home = os::find_env(config_.env, "HOME");
  config_.user = user;
  config_.env = as.env;
  if (!own_home) return;
  std::erase_if(config_.env, [](const std::string& entry) { return entry.starts_with("HOME="); });
  config_.env.push_back("HOME=" + home);
}

// COVE_SHELL, else bash, else sh, along the sandbox's PATH and then where they always are.
void Guest::find_shell() {
  std::string named = os::find_env(config_.env, "COVE_SHELL");
  std::vector<std::string> candidates;
  if (!named.empty()) candidates.push_back(named);
  std::string path = os::find_env(config_.env, "PATH");
  path += ":/bin:/usr/bin";
  for (const char* name : {"/bash", "/sh"}) {
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find(':', at), path.size());
      if (end > at && path[at] == '/') candidates.push_back(path.substr(at, end - at) + name);
      at = end + 1;
    }
  }
  for (const std::string& candidate : candidates) {
    if (!is_program(candidate)) continue;
    config_.program = candidate;
    const std::string name = candidate.substr(candidate.rfind('/') + 1);
    config_.dialect = name == "bash" ? &session::bash_dialect() : &session::posix_dialect();
    return;
  }
}

Result<void> Guest::on_start(std::uint32_t id, const proto::Start& start) {
  if (id == 0 || commands_.count(id) > 0) return fail(Errc::protocol, "a command's number is used twice");
  Command& command = *commands_.emplace(id, new Command(loop_, *this, id)).first->second;
  Result<void> started;
  switch (start.kind) {
    case proto::CommandKind::script: started = start_script(command, id, start); break;
    case proto::CommandKind::argv: started = start_program(command, start); break;
    case proto::CommandKind::file: started = start_file(command, start); break;
    case proto::CommandKind::connect: started = start_connection(command, start); break;
  }
  if (!started) command.refuse(started.error());
  return {};
}

Session& Guest::session(const std::string& name) {
  auto& session = sessions_[name];
  if (!session) session = std::make_unique<Session>(trees_, config_);
  return *session;
}

Result<void> Guest::start_script(Command& command, std::uint32_t id, const proto::Start& start) {
  if (config_.dialect == nullptr) {
    return fail(Errc::unsupported,
                "run a shell command: there is no bash or sh in the sandbox; use `cove exec` with a program");
  }
  if (start.script.find('\0') != std::string::npos)
    return fail(Errc::invalid, "a shell command cannot hold a NUL byte");
  Session& session = this->session(start.session);
  const Plumbing plumbing{start.with_stdin, start.split, start.pty, start.rows, start.columns};
  command.wait_for(session);
  session.run({.id = id,
               .script = start.script,
               .cwd = start.cwd,
               .plumbing = plumbing,
               .apart = start.apart,
               .started = [&command, &session, own_cwd = !start.cwd.empty()](Result<std::unique_ptr<Shell>> shell) {
                 if (shell)
                   command.adopt(std::move(*shell), session, own_cwd);
                 else
                   command.refuse(shell.error());
               }});
  return {};
}

// ~ is the home inside; a relative path starts at the sandbox's own directory.
std::string Guest::directory_for(const proto::Start& start) const {
  if (start.cwd.empty()) return config_.cwd;
  if (start.cwd == "~" || start.cwd.compare(0, 2, "~/") == 0)
    return os::find_env(config_.env, "HOME") + start.cwd.substr(1);
  return start.cwd[0] == '/' ? start.cwd : config_.cwd + "/" + start.cwd;
}

Result<void> Guest::start_program(Command& command, const proto::Start& start) {
  if (start.argv.empty()) return fail(Errc::invalid, "no program given");
  os::ExecSpec spec;
  spec.argv = start.argv;
  spec.env = config_.env;
  for (const std::string& entry : start.env) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(spec.env, [&](const std::string& old) { return old.compare(0, name.size(), name) == 0; });
    spec.env.push_back(entry);
  }
  spec.cwd = directory_for(start);
  spec.nearest_cwd = start.cwd.empty();
  const std::string& user = start.user.empty() ? config_.user : start.user;
  if (!user.empty()) COVE_CHECK(become_user(spec, user));
  COVE_TRY(Process process, start_process(trees_, std::move(spec),
                                          {start.with_stdin, start.split, start.pty, start.rows, start.columns}));
  command.adopt(std::move(process));
  return {};
}

Result<void> Guest::start_file(Command& command, const proto::Start& start) {
  const std::string directory = directory_for(start);
  const proto::FileRequest& request = start.file;
  COVE_TRY(Process process, start_work(
                                trees_,
                                [&](int in, int out) {
                                  [[maybe_unused]] const int entered = chdir(directory.c_str());
                                  const FileOutcome outcome = run_file_request(request, in, out);
                                  return Error{outcome.error, outcome.error_text};
                                },
                                start.with_stdin));
  command.adopt(std::move(process));
  return {};
}

Result<void> Guest::start_connection(Command& command, const proto::Start& start) {
  COVE_TRY(UniqueFd socket, connect_inside(start.argv));
  command.adopt_socket(std::move(socket));
  return {};
}

// Not before all that has ended is in them.
void Guest::answer_states() {
  if (states_asked_.empty()) return;
  for (const auto& [name, session] : sessions_) {
    if (!session->settled()) return;
  }
  for (const std::string& only : std::exchange(states_asked_, {})) send_states(only);
  for (const auto& [name, session] : sessions_) session->files_will_move();  // states are asked for before that
}

void Guest::send_states(const std::string& only) {
  for (const auto& [name, session] : sessions_) {
    const session::State& state = session->state();
    if ((!only.empty() && name != only) || state.from_login) continue;
    const SavedState saved{.dialect = std::string(config_.dialect->name()),
                           .cwd = state.cwd,
                           .variables = session::without_names(state.variables, config_.unsaved),
                           .text = state.text,
                           .umask = static_cast<std::uint32_t>(state.umask),
                           .last_status = state.last_status};
    const proto::SessionState message{name.empty() ? "default" : name, proto::encode(saved)};
    proto::append_message(channel_.out(), static_cast<std::uint8_t>(GuestType::session_state), 0,
                          proto::encode(message));
  }
  proto::append_message(channel_.out(), static_cast<std::uint8_t>(GuestType::session_state), 0,
                        proto::encode(proto::SessionState{}));
}

Result<void> Guest::restore(const proto::SessionState& saved) {
  if (saved.state.empty()) {
    session(saved.session == "default" ? "" : saved.session).begin_anew();
    return {};
  }
  COVE_TRY(const auto state, proto::decode<SavedState>(saved.state));
  if (config_.dialect == nullptr || state.dialect != config_.dialect->name()) return {};  // another shell: begins anew
  session::State restored;
  restored.cwd = state.cwd;
  restored.umask = static_cast<int>(state.umask & 0777U);
  restored.last_status = state.last_status;
  restored.variables = state.variables + config_.dialect->begin(unsaved_environment(), "", false).variables;
  restored.text = state.text;
  session(saved.session == "default" ? "" : saved.session).restore(std::move(restored));
  return {};
}

std::vector<std::string> Guest::unsaved_environment() const {
  std::vector<std::string> found;
  for (const std::string& name : config_.unsaved) {
    const std::string value = os::find_env(config_.env, name);
    if (!value.empty()) found.push_back(name + "=" + value);
  }
  return found;
}

}  // namespace cove::guest
