#include "image/fetch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "image/digest.h"

namespace cove::image {
namespace {

using namespace std::chrono_literals;

constexpr int kRetries = 3;
constexpr auto kFirstPause = 500ms;

bool worth_a_retry(Errc code) {
  return code == Errc::disconnected || code == Errc::timeout || code == Errc::busy || code == Errc::invalid;
}

// False: asked to stop.
bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

// The file, and the digest of what is in it so far.
class Part {
 public:
  explicit Part(const FetchSpec& spec) : spec_(spec) {}

  Result<void> open();
  Result<void> clear();
  // As BodySink: the first piece of an answer tells where it belongs.
  Result<void> take(const HttpAnswer& head, std::string_view bytes);
  Result<void> begin(const HttpAnswer& head);

  std::uint64_t size() const { return size_; }
  bool complete() const { return size_ == spec_.blob.size; }
  bool broken() const { return broken_; }  // by this machine, not by the network
  void expect_answer() { begun_ = false; }
  std::string digest() { return hash_.digest(); }
  Result<UniqueFd> give();

 private:
  Failure fail_here(const std::string& what) {
    broken_ = true;
    return fail_errno(what + " " + spec_.path);
  }

  const FetchSpec& spec_;
  UniqueFd file_;
  Sha256 hash_;
  std::uint64_t size_ = 0;
  bool begun_ = false, broken_ = false;
};

Result<void> Part::open() {
  file_.reset(::open(spec_.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) return fail_here("open");
  std::array<char, 1 << 16> buffer;
  ssize_t got = 0;
  while ((got = ::read(file_.get(), buffer.data(), buffer.size())) > 0) {
    hash_.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    size_ += static_cast<std::uint64_t>(got);
    if (size_ > spec_.blob.size) return clear();
  }
  if (got < 0) return fail_here("read");
  return {};
}

Result<void> Part::clear() {
  if (ftruncate(file_.get(), 0) < 0 || lseek(file_.get(), 0, SEEK_SET) < 0) return fail_here("empty");
  hash_ = Sha256();
  size_ = 0;
  return {};
}

Result<void> Part::begin(const HttpAnswer& head) {
  begun_ = true;
  if (head.status != 206) return size_ == 0 ? Result<void>{} : clear();
  if (head.header("content-range").starts_with("bytes " + std::to_string(size_) + "-")) return {};
  return fail(Errc::protocol, "the registry sent another part than the one asked for");
}

Result<void> Part::take(const HttpAnswer& head, std::string_view bytes) {
  if (!begun_) COVE_CHECK(begin(head));
  if (bytes.size() > spec_.blob.size - size_) return fail(Errc::protocol, "more bytes came than the manifest says");
  hash_.update(bytes);
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file_.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_here("write");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    size_ += static_cast<std::uint64_t>(wrote);
  }
  if (spec_.at) spec_.at(size_);
  return {};
}

Result<UniqueFd> Part::give() {
  if (lseek(file_.get(), 0, SEEK_SET) < 0) return fail_here("read");
  return std::move(file_);
}

Result<void> fill(Registry& registry, const FetchSpec& spec, Part& part, const std::stop_token& stop) {
  auto wait = kFirstPause;
  for (int attempt = 0; !part.complete(); ++attempt, wait *= 2) {
    part.expect_answer();
    auto done = registry.blob(spec.blob, part.size(), stop,
                              [&](const HttpAnswer& head, std::string_view bytes) { return part.take(head, bytes); });
    if (done && part.complete()) break;
    Error error = done ? Error{Errc::disconnected, "the registry sent too few bytes"} : std::move(done).error();
    if (part.broken() || !worth_a_retry(error.code) || attempt == kRetries) {
      return fail(std::move(error).because("fetch layer " + spec.blob.digest));
    }
    if (error.code == Errc::invalid) COVE_CHECK(part.clear());  // there is no such range
    if (spec.note) spec.note("cut at " + human_bytes(part.size()) + " (" + error.message + "), trying again");
    if (!pause(wait, stop)) return fail(Errc::cancelled, "fetch layer " + spec.blob.digest + ": it was interrupted");
  }
  return {};
}

}  // namespace

Result<UniqueFd> fetch_blob(Registry& registry, const FetchSpec& spec, const std::stop_token& stop) {
  Part part(spec);
  COVE_CHECK(part.open());
  bool resumed = part.size() > 0;
  if (resumed && spec.note) spec.note("going on at " + human_bytes(part.size()));
  if (spec.at) spec.at(part.size());
  for (;;) {
    COVE_CHECK(fill(registry, spec, part, stop));
    if (part.digest() == spec.blob.digest) return part.give();
    COVE_CHECK(part.clear());
    if (!resumed) break;
    resumed = false;  // what an earlier pull left may have been spoilt by a crash of this machine
    if (spec.note) spec.note("what was there is damaged, starting over");
  }
  unlink(spec.path.c_str());
  return fail(Errc::protocol, "layer " + spec.blob.digest +
                                  " is damaged: the bytes that came have another digest. Nothing of it is kept; pull "
                                  "again, and if that fails too, the registry or a proxy on the way is broken");
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (value /= 1024; value >= 1023.95 && unit < 3; ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
  return text.data();
}

}  // namespace cove::image
