#include "guest/machine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "guest/file_ops.h"
#include "guest/transfer.h"
#include "os/cgroup_layout.h"

namespace cove::guest {
namespace {

constexpr auto kPortRest = std::chrono::milliseconds(20);

// What the image has there is hidden, as by any mount.
Result<void> make_volume(const proto::MachineVolume& volume) {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV;
  const char* path = volume.path.c_str();
  if (volume.read_only) {
    if (mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kFlags, nullptr) == 0) return {};
    return fail_errno("make " + volume.path + " read-only");
  }
  COVE_CHECK(make_directories(volume.path));
  if (mount("volume", path, "tmpfs", kFlags, "size=50%,mode=0755") < 0) return fail_errno("mount " + volume.path);
  return {};
}

}  // namespace

std::uint64_t count_memory_kills() {
  constexpr std::string_view kWord = "\noom_kill ";
  const std::string text = os::read_text("/proc/vmstat");
  const std::size_t at = text.find(kWord);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + kWord.size(), nullptr, 10);
}

Machine::Machine(Loop& loop, UniqueFd control, Events events)
    : loop_(loop), control_(std::move(control)), events_(std::move(events)) {
  loop_.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
}

// A port that nobody holds on the other side ends at once, again and again: it is looked at now and then.
void Machine::read() {
  const auto space = reader_.space();
  const ssize_t n = ::read(control_.get(), space.data(), space.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    loop_.forget(control_.get());
    loop_.after(kPortRest, [this] { loop_.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { read(); }); });
    return;
  }
  reader_.filled(static_cast<std::size_t>(n));
  while (true) {
    auto message = reader_.next();
    if (!message || !*message) return;
    const auto type = static_cast<proto::MachineType>((*message)->type);
    auto done = handle(**message);
    // A transfer is answered at its end.
    if (!done || (type != proto::MachineType::put && type != proto::MachineType::get)) answer(type, done);
  }
}

Result<void> Machine::handle(const proto::Message& message) {
  if (message.type > static_cast<std::uint8_t>(last(proto::MachineType{})))
    return fail(Errc::protocol, "an unknown request");
  switch (static_cast<proto::MachineType>(message.type)) {
    case proto::MachineType::ready:
      identity_.prepare();
      events_.ready();
      return {};
    case proto::MachineType::sync: sync(); return {};
    case proto::MachineType::put:
    case proto::MachineType::get: {
      COVE_TRY(const auto request, proto::decode<proto::FileRequest>(message.payload));
      return begin_transfer(static_cast<proto::MachineType>(message.type), request);
    }
    case proto::MachineType::volume: {
      COVE_TRY(const auto volume, proto::decode<proto::MachineVolume>(message.payload));
      return make_volume(volume);
    }
    case proto::MachineType::renew: break;
  }
  COVE_TRY(const auto renew, proto::decode<proto::Renew>(message.payload));
  if (renew.mark.size() != proto::kMarkBytes) return fail(Errc::protocol, "a mark has another size");
  COVE_CHECK(identity_.renew(renew));
  events_.renewed(renew.mark);
  return {};
}

Result<void> Machine::begin_transfer(proto::MachineType type, const proto::FileRequest& request) {
  if (transfer_) return fail(Errc::busy, "files are being moved already");
  COVE_TRY(transfer_, start_transfer(request, type == proto::MachineType::put));
  words_.clear();
  loop_.watch(transfer_.get(), EPOLLIN, [this, type](std::uint32_t) { end_transfer(type); });
  return {};
}

void Machine::end_transfer(proto::MachineType type) {
  std::array<char, 1024> bytes{};
  const ssize_t n = ::read(transfer_.get(), bytes.data(), bytes.size());
  if (n > 0) {
    words_.append(bytes.data(), static_cast<std::size_t>(n));
    return;
  }
  loop_.forget(transfer_.get());
  transfer_.reset();
  answer(type, words_.empty() ? Result<void>() : Result<void>(fail(Errc::internal, words_)));
}

void Machine::answer(proto::MachineType type, const Result<void>& done) {
  ByteQueue out;
  proto::append_message(out, static_cast<std::uint8_t>(type), 0,
                        proto::encode(proto::MachineAnswer{done ? "" : done.error().message}));
  while (!out.empty()) {
    const ssize_t n = write(control_.get(), out.view().data(), out.size());
    if (n > 0) out.consume(static_cast<std::size_t>(n));
    pollfd room{control_.get(), POLLOUT, 0};
    if (n < 0 && (errno != EAGAIN || poll(&room, 1, 1000) <= 0)) return;
  }
}

}  // namespace cove::guest
