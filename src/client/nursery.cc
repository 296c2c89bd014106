#include "client/nursery.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "backend/traits.h"
#include "client/launch.h"
#include "client/surroundings.h"
#include "os/pass_fd.h"

namespace cove {
namespace {

Result<LaunchSocket> make_pair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the launch socket");
  return LaunchSocket{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<LaunchSocket> make_launch_socket() { return make_pair(SOCK_STREAM); }

// Never destroyed: whoever still makes sandboxes while the process ends finds it. The child of a fork() has one of its
// own: the lock of its parent's may be held by a thread that is not there.
Nursery& Nursery::of_this_process() {
  static std::atomic<Nursery*> current{new Nursery};
  Nursery* known = current.load();
  if (known->pid_ == getpid()) return *known;
  known->leave();
  auto own = std::make_unique<Nursery>();
  if (current.compare_exchange_strong(known, own.get())) return *own.release();
  return *known;
}

UniqueFd Nursery::take() {
  const std::lock_guard lock(mutex_);
  std::string now = surroundings();
  const bool same = now == surroundings_;
  surroundings_ = std::move(now);
  if (!same) leave();
  if (!same) return {};
  if (!orders_) begin();
  if (!waiting_) order(std::string(kAuto.name));
  return std::move(waiting_);
}

void Nursery::prepare(const std::string& backend) {
  const std::lock_guard lock(mutex_);
  if (!waiting_) order(backend == kAuto.name ? std::string(first_choice()) : backend);
}

void Nursery::begin() {
  auto pair = make_pair(SOCK_SEQPACKET);
  if (pair && spawn_keeper({"cove", "keeper", proto::kNursery}, pair->theirs.get())) orders_ = std::move(pair->ours);
}

void Nursery::order(const std::string& backend) {
  if (!orders_) return;
  auto socket = make_launch_socket();
  if (socket && os::send_with_fd(orders_.get(), backend, socket->theirs.get(), MSG_DONTWAIT) > 0)
    waiting_ = std::move(socket->ours);
  else
    orders_.reset();
}

void Nursery::close() {
  const std::lock_guard lock(mutex_);
  leave();
}

void Nursery::leave() {
  orders_.reset();
  waiting_.reset();
}

}  // namespace cove
