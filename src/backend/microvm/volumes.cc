#include "backend/microvm/volumes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "backend/microvm/vm.h"
#include "changes/apply.h"
#include "guest/files.h"
#include "guest/pieces.h"
#include "os/child.h"
#include "os/clone.h"
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

}  // namespace

Result<void> move_files(const proto::FileRequest& request, Way way, int port, Deadline deadline) {
  std::array<int, 2> ends{};
  int said[2];
  if (pipe2(ends.data(), O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  UniqueFd in(ends[0]), out(ends[1]), speaks(said[1]);
  const UniqueFd words(said[0]);
  COVE_TRY(os::Cloned mover, os::clone_process(0));
  if (mover.pid == 0) {
    std::signal(SIGPIPE, SIG_IGN);
    const bool there = way == Way::there;
    const pid_t worker = fork();
    if (worker == 0) {
      close(ends[there ? 0 : 1]);
      const auto outcome = guest::run_file_request(request, there ? -1 : ends[0], there ? ends[1] : -1);
      [[maybe_unused]] const auto n = write(said[1], outcome.error_text.data(), outcome.error_text.size());
      _exit(0);
    }
    close(ends[there ? 1 : 0]);
    const bool moved = there ? guest::send_pieces(ends[0], port) : guest::take_pieces(port, ends[1]);
    close(ends[there ? 0 : 1]);
    if (!moved) [[maybe_unused]]
      const auto n = write(said[1], " ", 1);
    int status = 0;
    waitpid(worker, &status, 0);
    _exit(0);
  }
  os::Child child = os::Child::adopt(mover.pid, std::move(mover.pidfd));
  // Or nobody would hear the end of what comes.
  for (UniqueFd* theirs : {&in, &out, &speaks}) theirs->reset();
  COVE_CHECK(child.wait(deadline));
  std::array<char, 1000> text{};
  const ssize_t n = read(words.get(), text.data(), text.size());
  if (n <= 0) return {};
  return fail(Errc::internal, "move files: " + std::string(text.data(), static_cast<std::size_t>(n)));
}

CopiedVolume::Listing CopiedVolume::list(const std::string& directory) {
  Listing all;
  std::error_code error;
  fs::recursive_directory_iterator walk(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && walk != fs::end(walk); walk.increment(error)) {
    struct stat info{};
    if (lstat(walk->path().c_str(), &info) < 0) continue;
    Known known{.mode = info.st_mode & ~static_cast<mode_t>(S_ISUID | S_ISGID)};
    if (S_ISREG(info.st_mode)) {
      known.size = static_cast<std::uint64_t>(info.st_size);
      known.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    } else if (S_ISLNK(info.st_mode)) {
      known.link = fs::read_symlink(walk->path(), error).string();
    } else if (!S_ISDIR(info.st_mode)) {
      continue;  // is not copied either
    }
    all.emplace(walk->path().lexically_relative(directory).string(), std::move(known));
  }
  return all;
}

Result<void> CopiedVolume::copy_in(Vm& vm, Deadline deadline) {
  clock_gettime(CLOCK_REALTIME, &began_);
  known_ = list(volume_.source);
  return vm.put_tree(volume_.source, volume_.target, deadline);
}

// Of the whole tree what an overlay's upper layer would have: the new, the changed, and marks for what is gone.
Result<void> CopiedVolume::keep_changes_only(const std::string& tree) const {
  const Listing now = list(tree);
  for (const auto& [path, known] : now) {
    const auto before = known_.find(path);
    if (before == known_.end() || before->second != known || S_ISDIR(known.mode)) continue;
    if (unlink((tree + "/" + path).c_str()) < 0) return fail_errno("remove " + tree + "/" + path);
  }
  for (const auto& [path, known] : known_) {
    if (!now.contains(path)) COVE_CHECK(mark_removed(tree, path));
  }
  return {};
}

Result<std::vector<std::string>> CopiedVolume::copy_back(Vm& vm, Deadline deadline) {
  std::vector<std::string> left;
  if (volume_.read_only) return left;
  COVE_CHECK(os::remove_tree_at(AT_FDCWD, stage_));
  if (mkdir(stage_.c_str(), 0700) < 0) return fail_errno("make " + stage_);
  auto got = vm.get_tree(volume_.target, stage_, deadline);
  if (got) got = keep_changes_only(stage_);
  if (!got) return fail(std::move(got).error());
  changes::ApplyOptions how;
  how.partial = true;
  how.base = began_;
  struct stat host{};
  if (stat(volume_.source.c_str(), &host) < 0) return fail_errno("look at " + volume_.source);
  if (geteuid() == 0) how.owner = changes::Owner{host.st_uid, host.st_gid};
  COVE_TRY(const auto applied, changes::apply(stage_, volume_.source, how));
  for (const auto* objections : {&applied.conflicts, &applied.refused}) {
    for (const auto& one : *objections) left.push_back(volume_.source + "/" + one.path + ": " + one.reason);
  }
  COVE_CHECK(os::remove_tree_at(AT_FDCWD, stage_));
  return left;
}

}  // namespace cove::microvm
