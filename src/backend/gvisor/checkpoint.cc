#include "backend/gvisor/checkpoint.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "backend/gvisor/inside.h"
#include "os/cgroup_layout.h"
#include "os/remove_tree.h"

namespace cove::gvisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kSettle = 200ms;  // "running" is said before the guest does

// By descriptor: the directories on the way belong to the keeper alone.
const std::string kImagePath = "/proc/self/fd/" + std::to_string(kImageFd);

Result<UniqueFd> open_directory(const std::string& path) {
  UniqueFd opened(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!opened) return fail_errno("open " + path);
  return opened;
}

// What is in it is opened before the ids are mapped, by one who is not its owner yet; the sandbox's directory around it
// is private.
Result<void> make_directory(const std::string& path, const os::Users& users) {
  COVE_CHECK(os::remove_tree_at(AT_FDCWD, path));
  if (mkdir(path.c_str(), 0711) < 0) return fail_errno("make " + path);
  if (users.by_root && lchown(path.c_str(), users.uid, users.gid) < 0) return fail_errno("give away " + path);
  return {};
}

Result<void> wait_until_running(Launched& launched, const RunscSpec& runsc, Deadline deadline) {
  while (!is_running(launched, runsc)) {
    if (const auto status = launched.child.poll())
      return fail(Errc::unsupported, "runsc " + status->text() + ": " + last_words(launched.log.get()));
    if (deadline.passed()) return fail(Errc::timeout, "gVisor was not ready in time");
    usleep(3000);
  }
  return {};
}

void end(Launched& launched) {
  [[maybe_unused]] const auto sent = launched.child.signal(SIGKILL);
  [[maybe_unused]] const auto ended = launched.child.wait(Deadline::after(5s));
}

// Restored, and still there a moment later: a kernel that panics does so at once.
Result<void> try_restore(const Program& program, RunscPlan plan, const os::Users& users, RunscSpec runsc,
                         const std::string& directory, Deadline deadline) {
  const Network network = runsc.network == "host" ? Network::host : Network::own;
  COVE_TRY(Launched first, launch(plan, program.path, users, network, nullptr, deadline));
  COVE_CHECK(wait_until_running(first, runsc, deadline));
  usleep(std::chrono::microseconds(kSettle).count());
  COVE_CHECK(save(first, program, runsc, users, directory, deadline));
  runsc.id = make_id();
  COVE_TRY(Launched second, restore(plan, program, runsc, users, nullptr, directory, deadline));
  COVE_CHECK(wait_until_running(second, runsc, deadline));
  const auto gone = second.child.wait(Deadline::after(300ms));
  if (gone) return fail(Errc::unsupported, "runsc " + gone->text() + ": " + last_words(second.log.get()));
  end(second);
  return {};
}

}  // namespace

std::string make_id() {
  std::uint64_t random = 0;
  [[maybe_unused]] const auto n = getrandom(&random, sizeof(random), 0);
  char text[40];
  std::snprintf(text, sizeof(text), "cove-%016llx", static_cast<unsigned long long>(random));
  return text;
}

bool is_running(const Launched& launched, const RunscSpec& runsc) {
  const std::string state = "/proc/" + std::to_string(launched.child.pid()) + "/root" + kState + "/" + runsc.id +
                            "_sandbox:" + runsc.id + ".state";
  return os::read_text(state).find("\"status\":\"running\"") != std::string::npos;
}

Result<void> save(Launched& launched, const Program& program, const RunscSpec& runsc, const os::Users& users,
                  const std::string& directory, Deadline deadline) {
  COVE_CHECK(make_directory(directory, users));
  COVE_TRY(const UniqueFd into, open_directory(directory));
  const UniqueFd opened(open(program.path.c_str(), O_PATH | O_CLOEXEC)), null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd said(memfd_create("cove-runsc-checkpoint", MFD_CLOEXEC));
  if (!opened || !null || !said) return fail_errno("open " + program.path);
  COVE_TRY(os::Child saver, run_inside({.of = launched.child.pid(),
                                        .program = opened.get(),
                                        .line = checkpoint_line(runsc, kImagePath),
                                        .in = null.get(),
                                        .out = null.get(),
                                        .err = said.get(),
                                        .extra = into.get()}));
  COVE_TRY(const os::ExitStatus status, saver.wait(deadline));
  // What it was killed by is the end of the sandbox, which is what a checkpoint ends in.
  struct stat image{};
  const bool written = fstatat(into.get(), "checkpoint.img", &image, AT_SYMLINK_NOFOLLOW) == 0 && image.st_size > 0;
  if (!written || (status.code != 0 && status.signal != SIGKILL)) {
    char text[300];
    const ssize_t n = pread(said.get(), text, sizeof(text), 0);
    return fail(Errc::internal, "runsc checkpoint " + status.text() + ": " +
                                    std::string(text, n > 0 ? static_cast<std::size_t>(n) : 0));
  }
  if (fchmodat(into.get(), "checkpoint.img", 0600, 0) < 0) return fail_errno("make the memory private");
  COVE_CHECK(launched.child.wait(deadline));
  return {};
}

Result<Launched> restore(RunscPlan& plan, const Program& program, RunscSpec runsc, const os::Users& users,
                         const os::LimitGroup* limits, const std::string& directory, Deadline deadline) {
  COVE_TRY(const UniqueFd from, open_directory(directory));
  runsc.log_fd = kLogFd;
  plan.line = restore_line(runsc, kImagePath);
  plan.image = from.get();
  const Network network = runsc.network == "host" ? Network::host : Network::own;
  auto launched = launch(plan, program.path, users, network, limits, deadline);
  plan.image = -1;
  return launched;
}

Result<void> check_restore(Program& program, const RunscPlan& like, const os::Users& users, const std::string& network,
                           const std::string& directory, Deadline deadline) {
  const Failure refused = fail(Errc::unsupported, "runsc " + program.version +
                                                      " does not bring a sandbox back from a checkpoint here: the "
                                                      "sandbox cannot be paused; a newer gVisor may");
  if (program.restores) return *program.restores ? Result<void>() : Result<void>(refused);
  RunscPlan plan = like;
  plan.volumes.clear();
  std::erase_if(plan.layers, [](const native::Layer& layer) { return layer.volume >= 0; });
  // The sandbox's own layers are in use.
  const std::string own = directory + "/memory.fs";
  COVE_CHECK(make_directory(own, users));
  for (native::Layer& layer : plan.layers) {
    layer.upper = own + "/" + layer.name;
    layer.work = layer.upper + ".work";
    COVE_CHECK(make_directory(layer.upper, users));
    COVE_CHECK(make_directory(layer.work, users));
  }
  RunscSpec runsc{.id = make_id(), .platform = program.platform, .network = network, .log_fd = kLogFd};
  plan.line = run_line(runsc);
  runsc.log_fd = -1;
  const std::string aside = directory + "/memory.try";
  // Once more if it fails: a machine under load is not what is asked about.
  auto tried = try_restore(program, plan, users, runsc, aside, earlier(deadline, Deadline::after(20s)));
  if (!tried) tried = try_restore(program, plan, users, runsc, aside, earlier(deadline, Deadline::after(20s)));
  for (const std::string& path : {aside, own}) [[maybe_unused]]
    const auto removed = os::remove_tree_at(AT_FDCWD, path);
  // Only what runsc itself had to say is remembered: a process that could not be made says nothing about it.
  const bool known = tried || tried.error().code == Errc::unsupported;
  if (known) program.restores = tried.has_value();
  if (known) remember(program);
  if (tried) return {};
  if (!known) return fail(std::move(tried).error().because("try a checkpoint"));
  Error error = refused.value();
  error.message += " (" + tried.error().message + ")";
  return fail(std::move(error));
}

}  // namespace cove::gvisor
