#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "home.h"
#include "process.h"

namespace cove::testing_helpers {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::string>& env) {
  std::vector<std::string> all = env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (os::find_env(env, text.substr(0, text.find('='))).empty()) all.push_back(text);
  }
  return all;
}

Done run_cove(const std::vector<std::string>& args, const std::vector<std::string>& env) {
  UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe out = make_pipe(), err = make_pipe();
  os::ExecSpec spec{.program = cove_program(), .argv = {"cove"}, .env = environment_with(env)};
  spec.argv.insert(spec.argv.end(), args.begin(), args.end());
  spec.fds = {{nothing.get(), 0}, {out.write.get(), 1}, {err.write.get(), 2}};
  Done done;
  auto child = os::Child::spawn(spec);
  if (!child) return done.err = child.error().text(), done;
  out.write.reset();
  err.write.reset();
  std::thread other([&] { done.err = read_all(err.read.get()); });
  std::thread reader([&] { done.out = read_all(out.read.get()); });
  const auto status = child->wait(Deadline::after(std::chrono::minutes(5)));
  if (!status) (void)child->signal(9);
  reader.join();
  other.join();
  if (status) done.code = status->code;
  return done;
}

Result<Running> start_program(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
  UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe out = make_pipe();
  os::ExecSpec spec{.program = argv.front(), .argv = argv, .env = environment_with(env)};
  spec.fds = {{nothing.get(), 0}, {out.write.get(), 1}, {out.write.get(), 2}};
  COVE_TRY(os::Child child, os::Child::spawn(spec));
  return Running{std::move(child), std::move(out.read), {}};
}

bool Running::says(const std::string& text, std::chrono::milliseconds within) {
  const Deadline deadline = Deadline::after(within);
  std::array<char, 4096> buffer;
  while (heard.find(text) == std::string::npos) {
    pollfd waiting{output.get(), POLLIN, 0};
    if (poll(&waiting, 1, deadline.poll_timeout()) <= 0) return false;
    const ssize_t got = read(output.get(), buffer.data(), buffer.size());
    if (got <= 0) return false;
    heard.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return true;
}

int Running::finish() {
  (void)says("\x01 never", std::chrono::minutes(5));
  const auto status = child.wait(Deadline::after(kPatience));
  return status ? status->code : -1;
}

}  // namespace cove::testing_helpers
