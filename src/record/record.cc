#include "record/record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <sstream>

#include "os/limits.h"
#include "os/remove_tree.h"
#include "record/files.h"
#include "record/home.h"
#include "record/json.h"

namespace cove::record {
namespace {

enum class Held : unsigned char { by_us, by_another, no_file };

// Looking at a record takes its lock for a moment, so a lock that is busy is asked for again before it is believed.
Held try_lock(int directory, UniqueFd& lock, int tries) {
  UniqueFd fd(openat(directory, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Held::no_file;
  for (int i = 0; flock(fd.get(), LOCK_EX | LOCK_NB) < 0; ++i) {
    if (i + 1 >= tries) return Held::by_another;
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  lock = std::move(fd);
  return Held::by_us;
}

bool is_locked(int directory) {
  const UniqueFd fd(openat(directory, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd && flock(fd.get(), LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

void write_pid(int lock) {
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock, 0) == 0) [[maybe_unused]]
    const auto n = pwrite(lock, pid.data(), pid.size(), 0);
}

std::string unique_name(const char* kind) {
  static unsigned counter = 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::string(".") + kind + "-" + std::to_string(getpid()) + "-" + std::to_string(now.tv_nsec) + "-" +
         std::to_string(counter++);
}

// The socket's address by way of the directory's descriptor: sun_path holds 107 bytes, paths are longer.
sockaddr_un address_in(int directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/sock", directory);
  return address;
}

// Takes it out of sight first: the name is free at once, and nobody opens half a record.
Result<void> remove_record(const std::string& name) {
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  const std::string gone = unique_name("gone");
  if (renameat(sandboxes.get(), name.c_str(), sandboxes.get(), gone.c_str()) < 0) {
    if (errno == ENOENT) return {};
    return fail_errno("remove sandbox " + name);
  }
  return os::remove_mapped_tree_at(sandboxes.get(), gone);
}

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Failure no_such(int sandboxes, const std::string& name) {
  std::string near;
  if (auto names = os::names_in(sandboxes)) {
    for (const std::string& other : *names) {
      const bool alike = other[0] != '.' && (distance(name, other) <= 2 || other.rfind(name, 0) == 0);
      if (alike) near += (near.empty() ? "" : ", ") + other;
    }
  }
  return fail(Errc::not_found, "there is no sandbox '" + name + "'" +
                                   (near.empty() ? ": see 'cove ls'" : ": did you mean " + near + "?"));
}

}  // namespace

Result<StoredSpec> read_spec(int directory) {
  COVE_TRY(const std::string text, read_file_at(directory, "spec.json"));
  COVE_TRY(StoredSpec stored, spec_from_json(text));
  const auto added = read_file_at(directory, "layers." + std::to_string(stored.writing));
  if (!added && added.error().code != Errc::not_found) return fail(added.error());
  if (!added) return stored;
  std::istringstream lines(*added);
  for (std::string line; std::getline(lines, line) && !lines.eof();) stored.spec.layers.push_back(line);  // whole lines
  return stored;
}

Result<Unnamed> Unnamed::make(UniqueFd sandboxes) {
  Unnamed made;
  made.sandboxes_ = std::move(sandboxes);
  made.aside_ = unique_name("new");
  if (mkdirat(made.sandboxes_.get(), made.aside_.c_str(), 0700) < 0) return fail_errno("make its directory");
  made.directory_ = UniqueFd(openat(made.sandboxes_.get(), made.aside_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  made.lock_ = UniqueFd(openat(made.directory_.get(), "lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.lock_ || flock(made.lock_.get(), LOCK_EX | LOCK_NB) < 0) return fail_errno("lock it");
  write_pid(made.lock_.get());
  return made;
}

Unnamed::~Unnamed() {
  if (sandboxes_) [[maybe_unused]]
    const auto removed = os::remove_mapped_tree_at(sandboxes_.get(), aside_);
}

Result<Record> Record::create(const SandboxSpec& spec) {
  COVE_CHECK(check_name(spec.name));
  COVE_TRY(UniqueFd sandboxes, open_sandboxes());
  auto made = Unnamed::make(std::move(sandboxes));
  if (!made) return fail(std::move(made).error().because("make sandbox " + spec.name));
  return create(spec, std::move(*made));
}

// Complete and locked before it is renamed: a record that can be seen is never half made.
Result<Record> Record::create(const SandboxSpec& spec, Unnamed unnamed) {
  COVE_CHECK(check_name(spec.name));
  const auto give_up = [&](Error error) { return fail(std::move(error).because("make sandbox " + spec.name)); };
  const int sandboxes = unnamed.sandboxes_.get();
  Record record;
  record.name_ = spec.name;
  record.directory_ = std::move(unnamed.directory_);
  record.lock_ = std::move(unnamed.lock_);
  if (auto written = write_new_file_at(record.directory(), "spec.json",
                                       spec_to_json({.spec = spec, .created_unix = std::time(nullptr)}));
      !written) {
    return give_up(std::move(written).error());
  }
  for (int tries = 0; renameat(sandboxes, unnamed.aside_.c_str(), sandboxes, spec.name.c_str()) < 0; ++tries) {
    const int error = errno;
    if (error != EEXIST && error != ENOTEMPTY && error != ENOTDIR) return give_up(errno_error(error, "name it"));
    auto old = open(spec.name);
    const auto info = old ? old->info() : Result<Info>(fail(old.error()));
    if (tries == 0 && info && info->life != Life::running && info->spec.owned && old->remove()) continue;
    const std::string what = !info                         ? "something that is no sandbox"
                             : info->life == Life::running ? "a running sandbox"
                             : info->life == Life::stopped ? "a stopped sandbox; 'cove start' starts it again"
                                                           : "a sandbox that has ended";
    return give_up({Errc::conflict, "the name is taken by " + what + "; 'cove rm " + spec.name + "' frees it"});
  }
  unnamed.sandboxes_.reset();
  return record;
}

Result<Record> Record::lock(const std::string& name) {
  COVE_TRY(Record record, open(name));
  switch (try_lock(record.directory(), record.lock_, 40)) {
    case Held::by_us: break;
    case Held::by_another: return fail(Errc::conflict, "sandbox " + name + " is running already");
    case Held::no_file: return fail(Errc::invalid, "sandbox " + name + " is damaged: 'cove rm --force " + name + "'");
  }
  write_pid(record.lock_.get());
  unlinkat(record.directory(), "status.json", 0);
  record.note_paused(false);
  return record;
}

Result<Record> Record::open(const std::string& name) {
  COVE_CHECK(check_name(name));
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  auto directory = open_private_directory(sandboxes.get(), name, "sandbox " + name);
  if (!directory) {
    if (directory.error().code == Errc::not_found) return no_such(sandboxes.get(), name);
    return fail(std::move(directory).error());
  }
  Record record;
  record.name_ = name;
  record.directory_ = std::move(*directory);
  return record;
}

std::string_view state_of(const Info& info) {
  switch (info.life) {
    case Life::running: return info.paused ? "paused" : "running";
    case Life::stopped: return "stopped";
    case Life::failed: break;
  }
  return "failed";
}

Result<Info> Record::info() const {
  Info info;
  info.name = name_;
  const bool alive = lock_ || is_locked(directory());
  COVE_TRY(StoredSpec stored, read_spec(directory()));
  for (auto& [key, value] : stored.spec.env) value.clear();
  info.spec = std::move(stored.spec);
  info.created_unix = stored.created_unix;
  if (alive) {
    info.life = Life::running;
    if (const auto pid = read_file_at(directory(), "lock")) info.keeper_pid = std::atoi(pid->c_str());
    info.paused = faccessat(directory(), "paused", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return info;
  }
  if (const auto status = read_file_at(directory(), "status.json")) {
    const StoredStatus parsed = status_from_json(*status);
    info.life = parsed.life;
    info.why = parsed.why;
  } else {
    // A persistent sandbox whose keeper was killed, or whose machine went down, can be started again.
    info.life = info.spec.persistent ? Life::stopped : Life::failed;
    info.why = "its keeper ended without a word (killed, or the machine went down)";
  }
  return info;
}

Result<SandboxSpec> Record::spec() const {
  COVE_TRY(StoredSpec stored, read_spec(directory()));
  return std::move(stored.spec);
}

Result<UniqueFd> Record::connect() const {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("make a socket");
  const sockaddr_un address = address_in(directory());
  int result = 0;
  do result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  while (result < 0 && errno == EINTR);
  if (result == 0) return fd;
  if (errno == ECONNREFUSED || errno == ENOENT) {
    return fail(Errc::disconnected, "sandbox " + name_ + " is not running: nobody listens on its socket");
  }
  return fail_errno("connect to sandbox " + name_);
}

Result<UniqueFd> Record::listen() const {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("make a socket");
  unlinkat(directory(), "sock", 0);
  const sockaddr_un address = address_in(directory());
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0) {
    return fail_errno("bind the socket of sandbox " + name_);
  }
  if (fchmodat(directory(), "sock", 0600, 0) < 0) return fail_errno("protect the socket of sandbox " + name_);
  if (::listen(fd.get(), SOMAXCONN) < 0) return fail_errno("listen for clients of sandbox " + name_);
  return fd;
}

// A list of layers belongs to one writing of spec.json, so that a crash in between leaves the one or the other.
Result<void> Record::write_spec(const SandboxSpec& spec) const {
  COVE_TRY(StoredSpec stored, read_spec(directory()));
  const std::string old_list = "layers." + std::to_string(stored.writing++);
  stored.spec = spec;
  COVE_CHECK(write_file_at(directory(), "spec.json", spec_to_json(stored)));
  unlinkat(directory(), old_list.c_str(), 0);
  layer_list_.reset();
  return {};
}

// One write: to replace a file makes some file systems wait for the disk.
Result<void> Record::add_layer(const std::string& id) const {
  if (!layer_list_) {
    COVE_TRY(const StoredSpec stored, read_spec(directory()));
    const std::string list = "layers." + std::to_string(stored.writing);
    layer_list_ =
        UniqueFd(openat(directory(), list.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  const std::string line = id + "\n";
  if (!layer_list_ || write(layer_list_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail_errno("note a layer of sandbox " + name_);
  return {};
}

Result<void> Record::write_status(Life life, const std::string& why) const {
  return write_file_at(directory(), "status.json", status_to_json(life, why));
}

Result<void> Record::append_to_journal(const std::string& line) const {
  if (!journal_) {
    journal_ = UniqueFd(openat(directory(), "journal", O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!journal_) return fail_errno("open the journal of sandbox " + name_);
    // A line that a crash or a full disk cut short is closed, so that it does not spoil the next one.
    struct stat info{};
    char end = '\n';
    if (fstat(journal_.get(), &info) == 0 && info.st_size > 0) {
      [[maybe_unused]] const auto n = pread(journal_.get(), &end, 1, info.st_size - 1);
    }
    if (end != '\n') [[maybe_unused]]
      const auto n = write(journal_.get(), "\n", 1);
  }
  const ssize_t n = write(journal_.get(), line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) return {};
  journal_.reset();
  return n < 0 ? fail_errno("write the journal of sandbox " + name_)
               : fail(Errc::busy, "write the journal of sandbox " + name_ + ": the disk is full");
}

Result<void> Record::note_started(const std::string& id) const { return append_to_journal(started_line(id)); }
Result<void> Record::note_ended(const proto::Outcome& outcome) const { return append_to_journal(ended_line(outcome)); }

Result<std::vector<proto::Outcome>> Record::journal() const {
  const auto text = read_file_at(directory(), "journal");
  if (!text && text.error().code == Errc::not_found) return std::vector<proto::Outcome>{};
  if (!text) return fail(text.error());
  auto all = parse_journal(*text);
  if (!lock_ && is_locked(directory())) return all;
  for (proto::Outcome& outcome : all) {
    if (outcome.ending != proto::Ending::running) continue;
    outcome.ending = proto::Ending::lost;
    outcome.exit_code = 125;
    outcome.detail = "its sandbox ended before it did";
  }
  return all;
}

void Record::note_paused(bool paused) const {
  if (!paused)
    unlinkat(directory(), "paused", 0);
  else
    const UniqueFd made(openat(directory(), "paused", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

void Record::release() { lock_.reset(); }

bool Record::await_release(Deadline deadline) const {
  while (is_locked(directory())) {
    if (deadline.passed()) return false;
    const timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

Result<void> Record::remove() {
  if (!lock_) {
    UniqueFd taken;
    if (try_lock(directory(), taken, 40) == Held::by_another) {
      return fail(Errc::conflict, "sandbox " + name_ + " is running: 'cove stop " + name_ + "' first");
    }
    lock_ = std::move(taken);
  }
  // Whoever bears the name now must be this record, not one that was made after another remover was faster.
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  struct stat mine{}, named{};
  if (fstat(directory(), &mine) < 0 || fstatat(sandboxes.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) < 0 ||
      mine.st_ino != named.st_ino || mine.st_dev != named.st_dev) {
    return {};
  }
  COVE_CHECK(remove_groups());
  return remove_record(name_);
}

Result<void> Record::remove_groups() const {
  const auto spec = this->spec();
  if (!spec || (spec->memory_bytes == 0 && spec->cpus == 0 && spec->pids == 0)) return {};
  UniqueFd lock;  // or a keeper that is just starting would lose those that it has made
  if (!lock_ && try_lock(directory(), lock, 1) == Held::by_another) return {};
  COVE_TRY(const std::string at, home());
  return os::remove_limit_group(os::group_name(at, name_), Deadline::after(std::chrono::seconds(5)));
}

}  // namespace cove::record
