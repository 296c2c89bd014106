#include "backend/apptainer/place.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "backend/apptainer/explain.h"
#include "backend/apptainer/scratch.h"
#include "os/remove_tree.h"

namespace cove::apptainer {
namespace {

using namespace std::chrono_literals;

std::string read_back(int file) {
  std::string text(64 << 10, '\0');
  const ssize_t n = pread(file, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

}  // namespace

Result<void> stop_instance(const engine::Program& program, const std::string& name) {
  COVE_TRY(const engine::Said said, program.run(stop_line(name), engine::call_deadline()));
  if (said.code == 0) return {};
  Error why = explain("stop the instance", said);
  if (why.code == Errc::not_found) return {};
  return fail(std::move(why));
}

Result<void> make_directories(const std::string& directory) {
  for (const char* part : {"", "/overlay", "/work", "/workspace", "/home"})
    COVE_CHECK(make_own_directory(directory + part));
  return {};
}

Result<void> remove_directory(const std::string& directory) {
  const std::size_t slash = directory.rfind('/');
  const UniqueFd parent(open(directory.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!parent) return {};
  return os::remove_mapped_tree_at(parent.get(), directory.substr(slash + 1));
}

Result<std::unique_ptr<Place>> ApptainerPlace::start(Instance instance, const SandboxSpec& spec) {
  std::unique_ptr<ApptainerPlace> place(new ApptainerPlace(std::move(instance), spec));
  COVE_TRY(engine::Call call, place->instance_.program.begin(start_line(place->instance_.spec)));
  place->start_.emplace(std::move(call));
  return place;
}

ApptainerPlace::~ApptainerPlace() { [[maybe_unused]] const auto ended = end(Deadline::after(2s)); }

Result<Channel> ApptainerPlace::connect(Deadline deadline) {
  if (guest_) return fail(Errc::unsupported, "an apptainer sandbox cannot be connected to again");
  COVE_TRY(const engine::Said said, std::exchange(start_, {})->wait(earlier(deadline, engine::call_deadline())));
  if (said.code != 0) return fail(explain("start the instance", said));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
  socket_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  said_.reset(memfd_create("cove-apptainer", MFD_CLOEXEC));
  COVE_TRY(guest_, instance_.program.attach(exec_line(instance_.spec.name), theirs.get(), said_.get()));
  Channel channel;
  channel.in.reset(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  channel.out.reset(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  if (!channel.in || !channel.out) return fail_errno("connect to the guest");
  return channel;
}

Result<void> ApptainerPlace::started() {
  const auto status = guest_ ? guest_->poll() : std::nullopt;
  if (!status || status->code == 0) return {};
  return fail(explain("run the guest in the instance", {status->code, "", read_back(said_.get())}));
}

// A home that is there whoever we are, and the image's variables below those asked for.
void ApptainerPlace::settle(SandboxSpec& spec) const {
  spec.inherits = true;
  const bool has_home =
      std::any_of(spec.env.begin(), spec.env.end(), [](const auto& entry) { return entry.first == "HOME"; });
  if (!has_home) spec.env.emplace_back("HOME", "/root");
}

Ended ApptainerPlace::ended() { return {"its instance is gone: it ended, or was stopped from outside"}; }

Result<void> ApptainerPlace::destroy(Deadline deadline) { return end(deadline); }

// The guest ends its commands in order when the channel has closed, and the instance after itself (--alone); what does
// not end so is stopped.
Result<void> ApptainerPlace::end(Deadline deadline) {
  if (over_) return {};
  if (start_) [[maybe_unused]]
    const auto said = std::exchange(start_, {})->wait(engine::call_deadline());
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
  if (guest_ && !guest_->wait(deadline)) {
    [[maybe_unused]] const auto sent = guest_->signal(SIGKILL);
    [[maybe_unused]] const auto reaped = guest_->wait(Deadline::after(5s));
  }
  COVE_CHECK(stop_instance(instance_.program, instance_.spec.name));
  if (!persistent_) COVE_CHECK(remove_directory(instance_.directory));
  socket_.reset();
  over_ = true;
  return {};
}

}  // namespace cove::apptainer
