#include "timing.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "helpers/home.h"

extern char** environ;

namespace cove::bench {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// With `fd` as the child's descriptor `as`, if that is not negative.
enum class Errors : unsigned char { shown, dropped };
pid_t spawn(const std::vector<std::string>& argv, int fd, int as, Errors errors = Errors::shown) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (fd >= 0) posix_spawn_file_actions_adddup2(&actions, fd, as);
  if (errors == Errors::dropped) posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  if (posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) give_up("spawn " + argv[0]);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

void reap(pid_t pid, const std::string& name) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || status != 0) give_up(name + " did not end well");
}

}  // namespace

void Samples::time(const std::function<void()>& what) {
  const auto begin = Clock::now();
  what();
  add(Clock::now() - begin);
}

double Samples::percentile(double p) const {
  if (times_.empty()) return 0;
  std::vector<double> sorted = times_;
  const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(sorted.size() - 1) * p / 100);
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
  return sorted[static_cast<std::size_t>(at)];
}

void give_up(const std::string& why) {
  std::fprintf(stderr, "cove-bench: %s\n", why.c_str());
  std::exit(2);
}

void spawn_and_wait(const std::vector<std::string>& argv) { reap(spawn(argv, -1, -1), argv[0]); }

bool answers(const std::vector<std::string>& argv, std::string* out) {
  Pipe pipe = make_pipe();
  const pid_t pid = spawn(argv, pipe.write.get(), 1, Errors::dropped);
  pipe.write.reset();
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = read(pipe.read.get(), buffer.data(), buffer.size())) > 0;) {
    if (out != nullptr) out->append(buffer.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  return waitpid(pid, &status, 0) == pid && status == 0;
}

std::uint64_t read_through_pipe(const std::vector<std::string>& argv) {
  Pipe pipe = make_pipe();
  const pid_t pid = spawn(argv, pipe.write.get(), 1);
  pipe.write.reset();
  std::uint64_t bytes = 0;
  std::array<char, 64 << 10> buffer;
  for (ssize_t got; (got = read(pipe.read.get(), buffer.data(), buffer.size())) > 0;) {
    bytes += static_cast<std::uint64_t>(got);
  }
  reap(pid, argv[0]);
  return bytes;
}

void write_through_pipe(const std::vector<std::string>& argv, std::string_view bytes) {
  Pipe pipe = make_pipe();
  const pid_t pid = spawn(argv, pipe.read.get(), 0);
  pipe.read.reset();
  while (!bytes.empty()) {
    const ssize_t done = write(pipe.write.get(), bytes.data(), std::min<std::size_t>(bytes.size(), 64 << 10));
    if (done <= 0) give_up("write to " + argv[0]);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  pipe.write.reset();
  reap(pid, argv[0]);
}

Row row(const std::string& what, const Samples& samples, const std::string& beside, double beside_value,
        Promise promise) {
  const std::vector<double> spread = {samples.p50(), samples.percentile(90), samples.percentile(99)};
  return {what, samples.p50(), "ms", beside, beside_value, promise, spread};
}

void pause_between() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

Sandbox make_sandbox() { return make_sandbox(testing_helpers::make_spec()); }

SandboxSpec native_spec() {
  SandboxSpec spec = testing_helpers::make_spec();
  spec.backend = "native";
  spec.login = false;
  spec.cwd = "/workspace";
  testing_helpers::set_env(spec, "HOME", "/root");
  testing_helpers::set_env(spec, "TMPDIR", "/tmp");
  return spec;
}

Sandbox make_sandbox(const SandboxSpec& spec) {
  auto sandbox = Sandbox::create(spec, {.deadline = Deadline::after(std::chrono::seconds(60))});
  if (!sandbox) give_up(sandbox.error().text());
  return std::move(*sandbox);
}

void run_true(Sandbox& sandbox) {
  const auto outcome = sandbox.run({.script = "true"}, {}, {.deadline = Deadline::after(std::chrono::seconds(60))});
  if (!outcome) give_up(outcome.error().text());
  if (outcome->exit_code != 0) give_up("true exits with " + std::to_string(outcome->exit_code));
}

}  // namespace cove::bench
