#include "fixture.h"
#include "backend/traits.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace cove::conformance {
namespace {

std::optional<Sandbox>& shared() {
  static std::optional<Sandbox> one;
  return one;
}

void collect(Ran& ran, Stream stream, std::string_view bytes) {
  ran.output += bytes;
  (stream == Stream::out ? ran.out : ran.err) += bytes;
  if (ran.pieces.empty() || ran.pieces.back().first != stream) ran.pieces.emplace_back(stream, "");
  ran.pieces.back().second += bytes;
}

// A call that hangs would take the whole suite with it.
Call bounded(Call call) {
  if (call.deadline.is_never()) call.deadline = Deadline::after(10min);
  return call;
}

}  // namespace

Ran run(Sandbox& sandbox, const CommandSpec& command, CommandIo io, Call call) {
  Ran ran;
  const auto wanted = io.output;
  io.output = [&](Stream stream, std::string_view bytes) {
    collect(ran, stream, bytes);
    if (wanted) wanted(stream, bytes);
  };
  const auto begin = Clock::now();
  auto outcome = sandbox.run(command, io, bounded(call));
  ran.took = Clock::now() - begin;
  if (outcome) {
    ran.outcome = *outcome;
  } else {
    ADD_FAILURE() << "run: " << outcome.error().text() << "\nscript: " << command.script.substr(0, 500)
                  << "\noutput so far: " << ran.output.substr(0, 500);
    ran.outcome.ending = Ending::lost;
    ran.outcome.exit_code = 125;
  }
  return ran;
}

namespace {

bool are_there(Sandbox& sandbox, const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    const auto text = sandbox.read_file(path, bounded({}));
    return text && !text->empty();
  });
}

// Runs it; whether the files were there when its time was not yet up.
bool ready_in_time(Sandbox& sandbox, const CommandSpec& command, const std::vector<std::string>& ready, Ran& ran) {
  const auto end = Clock::now() + command.timeout;
  bool in_time = ready.empty();
  std::jthread watcher([&](const std::stop_token& over) {
    while (!in_time && !over.stop_requested() && Clock::now() < end) {
      in_time = are_there(sandbox, ready) && Clock::now() < end;
      std::this_thread::sleep_for(20ms);
    }
  });
  ran = run(sandbox, command);
  ran.timeout = command.timeout;
  watcher.request_stop();
  watcher.join();
  return in_time;
}

}  // namespace

Ran run_to_timeout(Sandbox& sandbox, CommandSpec command, const std::vector<std::string>& ready) {
  command.timeout = 1s;
  while (true) {
    Ran ran;
    if (ready_in_time(sandbox, command, ready, ran)) return ran;
    // Where there are subreapers, what is only just starting is ended, too.
    if (are_there(sandbox, ready) && why_orphans_are_lost().empty()) return ran;
    for (const std::string& path : ready) (void)sandbox.remove_file(path, bounded({}));
    if (command.timeout > kPatience / 2) {
      ADD_FAILURE() << "it was not ready in time: " << command.script << "\n" << printable(ran);
      return ran;
    }
    command.timeout *= 2;
  }
}

Sandbox create(const SandboxSpec& spec) {
  auto sandbox = Sandbox::create(spec, bounded({}));
  // Without a sandbox no later line of a test means anything.
  if (!sandbox) throw std::runtime_error("create sandbox: " + sandbox.error().text());
  return std::move(*sandbox);
}

Sandbox& shared_sandbox() {
  SandboxSpec spec = make_spec();
  // Some cases run more at once than is usual in a container.
  if (traits_of(spec.backend).images == Images::engine) spec.pids = 2000;
  if (!shared()) shared().emplace(create(spec));
  return *shared();
}

void drop_shared_sandbox() { shared().reset(); }

namespace {

// Everywhere else what these probes look for is promised, and its absence a failure.
bool has_own_kernel() {
  const std::string backend = testing_helpers::backend_name();
  return backend == "gvisor" || backend == "microvm" || backend == "microsandbox";
}

}  // namespace

std::uint64_t big_bytes() {
  // Beyond the log's cap of 64 MiB, every window and the 80 MiB that memory may grow: more would show the same.
  constexpr std::uint64_t kUsual = 200'000'000;
  const char* wanted = std::getenv("COVE_TEST_BIG_BYTES");
  return wanted != nullptr ? std::stoull(wanted) : kUsual;
}

std::string why_not_seen_by_host() {
  static const std::string why = []() -> std::string {
    if (!has_own_kernel()) return "";
    const std::string nap = "7531." + std::to_string(getpid());
    const auto id = shared_sandbox().start({.script = "exec sleep " + nap, .session = "looker"}, bounded({}));
    const bool seen = eventually([&] { return !testing_helpers::processes_with_argument(nap).empty(); }, 1s);
    if (id) [[maybe_unused]]
      const auto ended = shared_sandbox().signal(*id, {.signal = 9}, bounded({}));
    return seen ? "" : "what runs inside is no process of this kernel: the host cannot look for it";
  }();
  return why;
}

std::string why_orphans_are_lost() {
  static const std::string why = []() -> std::string {
    if (!has_own_kernel()) return "";
    const Ran ran = run(shared_sandbox(), {.script = "p=$(sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'); "
                                                     "grep -w PPid /proc/$p/status | tr -dc 0-9",
                                           .session = "looker"});
    return ran.output != "1" ? "" : "the kernel inside has no subreapers: an orphan is no command's any more";
  }();
  return why;
}

std::string why_processes_are_slow() {
  static const std::string why = []() -> std::string {
    if (!has_own_kernel()) return "";
    const Ran ran = run(shared_sandbox(), {.script = "for i in {1..20}; do /bin/true; done", .session = "looker"});
    const auto each = std::chrono::duration_cast<std::chrono::milliseconds>(ran.took) / 20;
    return each < 3ms ? "" : "the kernel inside takes " + std::to_string(each.count()) + " ms to start a program";
  }();
  return why;
}

std::string why_no_ls() {
  static const std::string why = []() -> std::string {
    if (!has_own_kernel()) return "";
    const Ran ran = run(shared_sandbox(), {.script = "ls -d /", .session = "looker"});
    return ran.code() == 0 ? "" : "the kernel inside does not know what today's ls asks of it: " + ran.output;
  }();
  return why;
}

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string printable(const Ran& ran) {
  const auto& end = ran.outcome;
  return "ending " + std::to_string(static_cast<int>(end.ending)) + ", code " + std::to_string(end.exit_code) +
         ", signal " + std::to_string(end.signal) + ", cwd " + end.cwd + ", detail '" + end.detail + "', error '" +
         end.error_text + "', output: " + ran.output.substr(0, 1000);
}

void Contract::SetUp() {
  static std::atomic<int> number{0};
  session_ = "s" + std::to_string(++number);
  Ran made = run(sandbox(), {.script = "d=$(mktemp -d) && cd \"$d\" && unset d && pwd -P", .session = session_});
  ASSERT_EQ(made.code(), 0) << printable(made);
  scratch_ = made.output.substr(0, made.output.find('\n'));
}

void Contract::TearDown() {
  if (scratch_.empty()) return;
  run(sandbox(), {.argv = {"rm", "-rf", "--", scratch_}});
}

CommandSpec Contract::command(const std::string& script) const { return {.script = script, .session = session_}; }

Ran Contract::sh(CommandSpec command, CommandIo io, Call call) {
  if (command.session.empty()) command.session = session_;
  return run(sandbox(), command, std::move(io), call);
}

Ran Contract::sh_with_stdin(const std::string& script, std::string_view bytes) {
  return sh(CommandSpec{.script = script}, CommandIo{.stdin_bytes = bytes});
}

Ran Contract::sh_to_timeout(const std::string& script, const std::vector<std::string>& ready) {
  std::vector<std::string> paths;
  for (const std::string& name : ready) paths.push_back(scratch_ + "/" + name);
  return run_to_timeout(sandbox(), command(script), paths);
}

std::string Contract::start(const std::string& script) {
  auto id = sandbox().start(command(script), bounded({}));
  if (!id) ADD_FAILURE() << "start: " << id.error().text();
  return id.value_or("");
}

bool Contract::alive_inside(const std::string& pid) {
  if (pid.empty()) {
    ADD_FAILURE() << "no pid to look for";
    return false;
  }
  const std::string status = "/proc/" + pid + "/status";
  return run(sandbox(), {.script = "grep -q '^State:.[^ZX]' " + status + " 2>/dev/null", .session = "looker"}).code() ==
         0;
}

bool Contract::dies_inside(const std::string& pid) {
  if (pid.empty()) {
    ADD_FAILURE() << "no pid to look for";
    return false;
  }
  return eventually([&] { return !alive_inside(pid); });
}

std::string Contract::read_inside(const std::string& name) {
  auto text = sandbox().read_file(scratch_ + "/" + name, bounded({}));
  if (!text) return "";
  if (text->ends_with('\n')) text->pop_back();
  return *text;
}

bool Contract::appears_inside(const std::string& name) {
  return eventually([&] { return !read_inside(name).empty(); });
}

}  // namespace cove::conformance
