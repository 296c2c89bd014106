#include "backend/native/first_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace cove::native {
namespace {

constexpr std::uint64_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

struct SocketPair {
  UniqueFd ours, theirs;
};

Result<SocketPair> make_pair(const char* what) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno(what);
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::pair<dev_t, ino_t> changes_of(const Plan& plan) {
  struct stat info{};
  if (plan.layers.empty() || stat(plan.layers.front().upper.c_str(), &info) < 0) return {};
  return {info.st_dev, info.st_ino};
}

// Whatever the directory is called that has them: it was opened, and bears another name since.
bool makes_the_same(const Plan& one, const Plan& other) {
  const auto same = [](const Layer& a, const Layer& b) {
    return a.name == b.name && a.target == b.target && a.lowers == b.lowers && a.volume == b.volume;
  };
  return std::equal(one.layers.begin(), one.layers.end(), other.layers.begin(), other.layers.end(), same) &&
         other.volumes.empty() && other.disk_bytes == 0 && other.resolv_conf.empty() && !other.sys &&
         one.guest == other.guest && one.drop_groups == other.drop_groups;
}

}  // namespace

Failure refused_namespaces(const Error& error) {
  std::string why = error.message;
  if (access("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", F_OK) == 0)
    why += "; AppArmor may refuse them: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root";
  return fail(Errc::unsupported, why + "; what remains without them is --backend landlock");
}

FirstProcess::FirstProcess(std::unique_ptr<Memory> memory, UniqueFd sync, UniqueFd channel)
    : memory_(std::move(memory)),
      sync_(std::move(sync)),
      channel_(std::move(channel)),
      child_(os::Child::adopt(memory_->process.pid(), memory_->process.take_pidfd())) {}

Result<FirstProcess> FirstProcess::begin(const os::Users& users, const Plan& plan, Deadline deadline) {
  COVE_TRY(SocketPair channel, make_pair("make the guest's channel"));
  COVE_TRY(SocketPair sync, make_pair("make a socket"));
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  auto memory = std::make_unique_for_overwrite<Memory>();
  Plan& waiting = memory->entry.waiting;
  waiting.makes_network = plan.makes_network;
  waiting.sync = sync.theirs.get();
  waiting.keepers_sync = sync.ours.get();
  waiting.channel = channel.theirs.get();
  waiting.null = null.get();
  memory->entry.plan = memory->entry.final = memory->entry.with_descriptors(plan);
  const std::uint64_t network = plan.own_network && !plan.makes_network ? CLONE_NEWNET : 0U;
  const auto be_it = [](void* entry) {
    enter(*static_cast<Entry*>(entry));
    return 1;
  };
  auto process = os::LightProcess::start_in(kNamespaces | network, be_it, &memory->entry);
  if (!process) return refused_namespaces(process.error());
  memory->process = std::move(*process);
  FirstProcess first(std::move(memory), std::move(sync.ours), std::move(channel.ours));
  COVE_CHECK(os::map_users(users, first.pid(), deadline));
  return first;
}

Result<void> FirstProcess::go(const Plan& plan) {
  Entry& entry = memory_->entry;
  entry.final = entry.with_descriptors(plan);
  if (entry.plan.is_guess) return send(sync_.get(), "n", 1, MSG_NOSIGNAL) == 1 ? Result<void>() : fail_errno("name it");
  entry.plan = entry.final;
  changes_ = changes_of(plan);
  return let_go(sync_.get(), plan, pid());
}

Result<void> FirstProcess::await_place(Deadline deadline) const {
  pollfd word{sync_.get(), POLLIN, 0};
  char byte = 0;
  if (poll(&word, 1, deadline.poll_timeout()) != 1 || recv(sync_.get(), &byte, 1, MSG_DONTWAIT) != 1 || byte != kReady)
    return fail(Errc::timeout, "the place was not made");
  return {};
}

bool FirstProcess::can_become(const Plan& plan) const {
  pollfd ended{child_.pidfd(), POLLIN, 0};
  if (!plan.makes_network || plan.disk >= 0 || plan.host_sys >= 0 || poll(&ended, 1, 0) != 0) return false;
  const Plan& guess = memory_->entry.plan;
  return !guess.is_guess || (makes_the_same(guess, plan) && changes_of(plan) == changes_);
}

Result<void> FirstProcess::failure() const {
  StepFailure failure{};
  const ssize_t n = recv(sync_.get(), &failure, sizeof(failure), MSG_DONTWAIT);
  if (n != sizeof(failure) || memory_ == nullptr) return {};
  return fail(explain(failure, memory_->entry.plan));
}

}  // namespace cove::native
