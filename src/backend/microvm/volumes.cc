#include "backend/microvm/volumes.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "backend/microvm/vm.h"
#include "changes/text.h"
#include "guest/files.h"
#include "guest/pieces.h"
#include "os/child.h"
#include "os/remove_tree.h"

namespace cove::microvm {
namespace {

namespace fs = std::filesystem;

// What was there and is not any more, as an overlay marks it.
Result<void> mark_removed(const std::string& tree, const std::string& path) {
  const std::string at = tree + "/" + path;
  std::error_code ignored;
  // Of a directory that is gone as a whole the mark for that is enough.
  if (!fs::is_directory(fs::path(at).parent_path(), ignored)) return {};
  if (mknod(at.c_str(), S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST) return fail_errno("mark " + at);
  return {};
}

constexpr const char* kBrokeOff = "it broke off, or is more than the machine has room for";

// Ends with its parent, and in any case without coming back.
template <class Work>
pid_t in_child(const Work& work) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(1);
  std::signal(SIGPIPE, SIG_IGN);
  work();
  _exit(0);
}

void say(int words, const std::string& text) { [[maybe_unused]] const auto n = write(words, text.data(), text.size()); }

}  // namespace

// One process does the work, another one moves its bytes: a pipe of each is closed in the other.
Result<void> move_files(const proto::FileRequest& request, Way way, const MovePort& port, Deadline deadline) {
  const bool there = way == Way::there;
  std::array<int, 2> ends{}, said{};
  if (pipe2(said.data(), O_CLOEXEC) < 0) return fail_errno("make a pipe");
  const UniqueFd words(said[0]);
  UniqueFd speaks(said[1]);
  const pid_t mover = in_child([&] {
    if (pipe2(ends.data(), O_CLOEXEC) < 0) return say(said[1], "make a pipe");
    const pid_t worker = in_child([&] {
      close(ends[there ? 0 : 1]);
      say(said[1], guest::run_file_request(request, there ? -1 : ends[0], there ? ends[1] : -1).error_text);
    });
    close(ends[there ? 1 : 0]);
    const bool moved = there ? guest::send_pieces(ends[0], port.fd) : guest::take_pieces(port.fd, ends[1], port.most);
    close(ends[there ? 0 : 1]);
    if (!moved) say(said[1], kBrokeOff);
    waitpid(worker, nullptr, 0);
  });
  if (mover < 0) return fail_errno("make a process");
  os::Child child = os::Child::adopt(mover, os::open_pidfd(mover));
  speaks.reset();  // or nobody would hear its end
  COVE_CHECK(child.wait(deadline));
  std::array<char, 1000> text{};
  const ssize_t n = read(words.get(), text.data(), text.size());
  if (n <= 0) return {};
  const std::string why(text.data(), static_cast<std::size_t>(n));
  return fail(why.find(kBrokeOff) == std::string::npos ? Errc::internal : Errc::disconnected, "move files: " + why);
}

Result<CopiedVolume::Listing> CopiedVolume::list(const std::string& directory) {
  Listing all;
  std::error_code error;
  fs::recursive_directory_iterator walk(directory, error);
  for (; !error && walk != fs::end(walk); walk.increment(error)) {
    struct stat info{};
    if (lstat(walk->path().c_str(), &info) < 0) continue;
    Known known{.mode = info.st_mode & ~static_cast<mode_t>(S_ISUID | S_ISGID)};
    if (S_ISREG(info.st_mode)) {
      known.size = static_cast<std::uint64_t>(info.st_size);
      known.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    } else if (S_ISLNK(info.st_mode)) {
      std::error_code ignored;
      known.link = fs::read_symlink(walk->path(), ignored).string();
    } else if (!S_ISDIR(info.st_mode) && !S_ISFIFO(info.st_mode)) {
      continue;  // is not copied either
    }
    all.emplace(walk->path().lexically_relative(directory).string(), std::move(known));
  }
  if (error) return fail(Errc::denied, "look at all of " + directory + ": " + error.message());
  return all;
}

Result<void> CopiedVolume::copy_in(Vm& vm, Deadline deadline) {
  clock_gettime(CLOCK_REALTIME, &began_);
  COVE_TRY(known_, list(volume_.source));
  std::uint64_t bytes = 0;
  for (const auto& [path, known] : known_) bytes += known.size;
  if (bytes > vm.room_for_volume())
    return fail(Errc::unsupported, volume_.source + " has " + std::to_string(bytes >> 20U) +
                                       " MiB, and a volume of this machine has room for " +
                                       std::to_string(vm.room_for_volume() >> 20U) + ": give it more --memory");
  COVE_CHECK(vm.make_volume({.path = volume_.target}, deadline));
  COVE_CHECK(vm.put_tree(volume_.source, volume_.target, deadline));
  if (volume_.read_only) return vm.make_volume({.path = volume_.target, .read_only = true}, deadline);
  return {};
}

// Of the whole tree what an overlay's upper layer would have: the new, the changed, and marks for what is gone.
Result<void> CopiedVolume::keep_changes_only(const Listing& now) const {
  for (const auto& [path, known] : now) {
    const auto before = known_.find(path);
    if (before == known_.end() || before->second != known || S_ISDIR(known.mode)) continue;
    if (unlink((stage_ + "/" + path).c_str()) < 0) return fail_errno("remove " + stage_ + "/" + path);
  }
  for (const auto& [path, known] : known_) {
    if (!now.contains(path)) COVE_CHECK(mark_removed(stage_, path));
  }
  return {};
}

// What was not brought is as different as before.
void CopiedVolume::know(Listing now, const changes::Applied& applied) {
  for (const auto* objections : {&applied.conflicts, &applied.refused}) {
    for (const auto& one : *objections) {
      now.erase(one.path);
      if (const auto before = known_.find(one.path); before != known_.end()) now.insert(*before);
    }
  }
  known_ = std::move(now);
  written_ = applied.written;
}

Result<std::vector<std::string>> CopiedVolume::copy_back(Vm& vm, Deadline deadline) {
  std::vector<std::string> left;
  if (volume_.read_only) return left;
  COVE_CHECK(os::remove_tree_at(AT_FDCWD, stage_));
  if (mkdir(stage_.c_str(), 0700) < 0) return fail_errno("make " + stage_);
  COVE_CHECK(vm.get_tree(volume_.target, stage_, deadline));
  COVE_TRY(Listing now, list(stage_));
  COVE_CHECK(keep_changes_only(now));
  changes::ApplyOptions how;
  how.partial = true;
  how.base = began_;
  how.already = written_;
  struct stat host{};
  if (stat(volume_.source.c_str(), &host) < 0) return fail_errno("look at " + volume_.source);
  if (geteuid() == 0) how.owner = changes::Owner{host.st_uid, host.st_gid};
  COVE_TRY(const auto applied, changes::apply(stage_, volume_.source, how));
  know(std::move(now), applied);
  for (const auto* objections : {&applied.conflicts, &applied.refused}) {
    for (const auto& one : *objections) left.push_back(changes::quote_path(one.path) + ": " + one.reason);
  }
  COVE_CHECK(os::remove_tree_at(AT_FDCWD, stage_));
  return left;
}

}  // namespace cove::microvm
