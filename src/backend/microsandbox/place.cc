#include "backend/microsandbox/place.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "backend/engine/names.h"
#include "backend/guest_path.h"
#include "record/record.h"

namespace cove::microsandbox {
namespace {

using namespace std::chrono_literals;

constexpr auto kCreateTime = 300s, kStopTime = 30s;

// msb shows directories: one that holds nothing but the guest. Whoever the image's user is runs it, and nobody of this
// machine comes to it.
Result<std::string> guest_directory(const SandboxSpec& spec) {
  COVE_TRY(const std::string guest, find_guest());
  const std::string closed = spec.directory + "/fs";
  std::string directory = closed + "/guest";
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (chmod(closed.c_str(), 0700) < 0 || chmod(directory.c_str(), 0755) < 0) return fail_errno("make " + directory);
  const std::string copy = directory + "/cove-guest";
  std::filesystem::copy_file(guest, copy, std::filesystem::copy_options::overwrite_existing, failed);
  if (failed) return fail(Errc::internal, "copy the guest to " + copy + ": " + failed.message());
  if (chmod(copy.c_str(), 0555) < 0) return fail_errno("make " + copy + " a program");
  return directory;
}

// Says that msb holds something of this sandbox while nobody runs it.
Result<void> leave_mark(const SandboxSpec& spec) {
  const UniqueFd file(
      open((spec.directory + "/" + record::kKeptOutside).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return file ? Result<void>{} : fail_errno("note the sandbox's microVM");
}

}  // namespace

MicrosandboxPlace::MicrosandboxPlace(Msb msb, Takes takes, const SandboxSpec& spec)
    : msb_(std::move(msb)),
      takes_(std::move(takes)),
      name_(engine::container_name(engine::home_of(spec.directory), spec.name)),
      persistent_(spec.persistent) {}

MicrosandboxPlace::~MicrosandboxPlace() { [[maybe_unused]] const auto ended = destroy(Deadline::after(kStopTime)); }

Result<std::unique_ptr<Place>> MicrosandboxPlace::start(Msb msb, const SandboxSpec& spec) {
  COVE_TRY(const Takes takes, msb.takes());
  COVE_CHECK(check(spec, takes));
  std::unique_ptr<MicrosandboxPlace> place(new MicrosandboxPlace(std::move(msb), takes, spec));
  COVE_CHECK(place->begin(spec));
  return place;
}

// `exec` would start again what was stopped, and stop it with its own end, however that comes: it is started apart. One
// that ran on after a keeper's death refuses this, and is as good.
Result<void> MicrosandboxPlace::begin(const SandboxSpec& spec) {
  if (persistent_) {
    const bool kept = access((spec.directory + "/" + record::kKeptOutside).c_str(), F_OK) == 0;
    COVE_TRY(const bool there, msb_.has(name_));
    if (there && kept) {
      [[maybe_unused]] const auto started = msb_.ask({"start", "--quiet", name_}, Deadline::after(kCreateTime));
      return {};
    }
    if (kept) notes_.emplace_back("its microVM had been removed from outside and was made anew, without its files");
    COVE_CHECK(leave_mark(spec));
  }
  COVE_TRY(const std::string guest, guest_directory(spec));
  COVE_TRY(const auto said, msb_.ask(create_words(spec, takes_, name_, guest), Deadline::after(kCreateTime)));
  (void)said;
  return {};
}

Result<Channel> MicrosandboxPlace::connect(Deadline) {
  if (exec_) return fail(Errc::unsupported, "the stream to a microVM of msb's cannot be opened again");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  COVE_TRY(exec_, msb_.attach(exec_words(takes_, name_), theirs.get()));
  Channel channel;
  channel.out.reset(fcntl(ours.get(), F_DUPFD_CLOEXEC, 0));
  channel.in = std::move(ours);
  if (!channel.out) return fail_errno("connect to the guest");
  return channel;
}

Ended MicrosandboxPlace::ended() {
  const auto status = exec_ ? exec_->poll() : std::nullopt;
  return {"its microVM ended, or the stream to it" + (status ? ": msb exec " + status->text() : std::string())};
}

Result<void> MicrosandboxPlace::destroy(Deadline) {
  if (over_) return {};
  exec_.reset();
  if (persistent_) {
    // Not by force at first: what its kernel has not written yet would be lost.
    auto stopped = msb_.ask({"stop", "--quiet", name_}, Deadline::after(kStopTime));
    if (!stopped) stopped = msb_.ask({"stop", "--quiet", "--force", name_}, Deadline::after(kStopTime));
    if (!stopped) COVE_CHECK(msb_.has(name_));
  } else {
    COVE_CHECK(msb_.remove(name_));
  }
  over_ = true;
  return {};
}

}  // namespace cove::microsandbox
