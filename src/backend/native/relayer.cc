#include "backend/native/relayer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sstream>

#include "backend/native/mounts.h"
#include "backend/native/volumes.h"
#include "os/cgroup_layout.h"
#include "os/child.h"
#include "os/clone.h"

namespace cove::native {
namespace {

struct Mounted {
  std::string id, parent, place;
};

std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
    i += 3;
  }
  return plain;
}

// The places of what is mounted directly on the root: the rest moves with them.
std::vector<std::string> mounts_on_root(const std::string& mountinfo) {
  std::vector<Mounted> all;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    Mounted mounted;
    std::string device, root;
    if (std::istringstream(line) >> mounted.id >> mounted.parent >> device >> root >> mounted.place)
      all.push_back(std::move(mounted));
  }
  const auto top = std::find_if(all.begin(), all.end(), [](const Mounted& one) { return one.place == "/"; });
  std::vector<std::string> places;
  for (const Mounted& one : all) {
    if (top != all.end() && one.parent == top->id && one.place != "/") places.push_back(unescape(one.place));
  }
  return places;
}

UniqueFd open_namespace(pid_t guest, const char* kind) {
  return UniqueFd(open(("/proc/" + std::to_string(guest) + "/ns/" + kind).c_str(), O_RDONLY | O_CLOEXEC));
}

bool become_root(const os::Users& users) {
  if (!users.by_root && users.more_gids.count == 0) return true;
  return syscall(SYS_setresgid, 0, 0, 0) == 0 && syscall(SYS_setresuid, 0, 0, 0) == 0;
}

// What a child says before it ends: where it was, and errno. From `entered` on there is no way back.
enum class At : unsigned char { layers, namespaces, overlays, entered, root, moved, placed, over };
struct Word {
  At at = At::layers;
  int number = 0;
};

class Mover {
 public:
  Mover(pid_t guest, const Plan& plan, const std::vector<std::size_t>& changed, const os::Users& users)
      : guest_(guest), plan_(plan), changed_(changed), users_(users) {
    scene_.plan = &plan;
  }

  Word work() {
    const bool done = open_all() && enter_users() && make_overlays() && enter_mounts() && exchange();
    return {done ? At::over : at_, done ? 0 : errno};
  }

 private:
  bool replaces(std::size_t index) const {
    return std::find(changed_.begin(), changed_.end(), index) != changed_.end();
  }

  bool open_all() {
    users_ns_ = open_namespace(guest_, "user");
    mounts_ns_ = open_namespace(guest_, "mnt");
    places_ = mounts_on_root(os::read_text("/proc/" + std::to_string(guest_) + "/mountinfo"));
    return users_ns_ && mounts_ns_ && open_sources();
  }

  // While it still has rights over the host's mounts.
  bool open_sources() {
    for (std::size_t i = 0; i < plan_.volumes.size(); ++i) {
      if (!plan_.volumes[i].copied || !plan_.volumes_are_sent) continue;
      auto tree = clone_volume(plan_.volumes[i], users_ns_.get());
      if (!tree) return errno = EIO, false;
      scene_.volumes[i] = tree->release();
    }
    return true;
  }

  // In a copy of the host's mounts, where the layers have names, and opened there, because an overlay takes only what
  // is of its maker's mounts; but still as the caller: the directories on the way are private.
  bool enter_users() {
    at_ = At::namespaces;
    return setns(users_ns_.get(), CLONE_NEWUSER) == 0 && unshare(CLONE_NEWNS) == 0 && open_layers(plan_, scene_) &&
           open_volumes(plan_, scene_) && become_root(users_) && detach_mounts(plan_, scene_) &&
           open_copies(plan_, scene_);
  }

  bool make_overlays() {
    at_ = At::overlays;
    return std::all_of(changed_.begin(), changed_.end(), [&](std::size_t index) {
      scene_.layers[index].mounted = make_layer(plan_.layers[index], scene_.layers[index]);
      return scene_.layers[index].mounted >= 0;
    });
  }

  bool enter_mounts() { return setns(mounts_ns_.get(), CLONE_NEWNS) == 0; }

  bool exchange() {
    at_ = At::entered;
    if (chdir("/") < 0) return false;
    return replaces(0) ? exchange_root() : exchange_others();
  }

  bool exchange_others() {
    return std::all_of(changed_.begin(), changed_.end(), [&](std::size_t index) {
      return umount2(plan_.layers[index].target.c_str(), MNT_DETACH) == 0 && place(index);
    });
  }

  // The new root is put upon the old one, takes over what stands on that, and becomes the root of everybody.
  bool exchange_root() {
    at_ = At::root;
    const int root = scene_.layers[0].mounted;
    if (syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(root) < 0) return false;
    at_ = At::moved;
    if (!std::all_of(places_.begin(), places_.end(), [&](const std::string& place) { return take_over(place); }))
      return false;
    at_ = At::placed;
    for (std::size_t index = 1; index < plan_.layers.size(); ++index) {
      if (replaces(index) && !place(index)) return false;
    }
    return mkdir_if_missing("workspace") && write_resolver(plan_, scene_) && enter_root(plan_, scene_);
  }

  bool take_over(const std::string& place) const {
    for (const std::size_t index : changed_) {
      if (index > 0 && "/" + plan_.layers[index].target == place) return true;
    }
    struct stat info{};
    if (stat(place.c_str(), &info) < 0 || !prepare_target(place.c_str(), S_ISDIR(info.st_mode))) return false;
    return syscall(SYS_move_mount, AT_FDCWD, place.c_str(), AT_FDCWD, place.c_str() + 1, 0) == 0;
  }

  bool place(std::size_t index) const {
    const char* target = plan_.layers[index].target.c_str();
    return syscall(SYS_move_mount, scene_.layers[index].mounted, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) == 0;
  }

  static bool mkdir_if_missing(const char* name) { return mkdir(name, 0755) == 0 || errno == EEXIST; }

  pid_t guest_;
  const Plan& plan_;
  const std::vector<std::size_t>& changed_;
  const os::Users& users_;
  Scene scene_;
  UniqueFd users_ns_, mounts_ns_;
  std::vector<std::string> places_;
  At at_ = At::layers;
};

Result<void> judge(const Word& word) {
  switch (word.at) {
    case At::over: return {};
    case At::layers: return fail(errno_error(word.number, "open the sandbox's layers and namespaces"));
    case At::namespaces: return fail(errno_error(word.number, "enter the sandbox's namespaces"));
    case At::overlays: {
      Error error = errno_error(word.number, "make the sandbox's new layers");
      if (word.number == ENOSYS) error.message += "; it needs Linux 5.2";
      return fail(std::move(error));
    }
    default: break;
  }
  return fail(Errc::internal,
              "the sandbox's files could not be exchanged: " +
                  errno_error(word.number, "step " + std::to_string(static_cast<int>(word.at))).message);
}

}  // namespace

Result<void> relayer(pid_t guest, const Plan& plan, const std::vector<std::size_t>& changed, const os::Users& users,
                     Deadline deadline) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  COVE_TRY(os::Cloned cloned, os::clone_process(0));
  if (cloned.pid == 0) {
    const Word word = Mover(guest, plan, changed, users).work();
    _exit(write(out.get(), &word, sizeof(word)) == sizeof(word) ? 0 : 1);
  }
  out.reset();
  os::Child child = os::Child::adopt(cloned.pid, std::move(cloned.pidfd));
  const auto ended = child.wait(deadline);
  if (!ended) {
    [[maybe_unused]] const auto killed = child.signal(SIGKILL);
    return fail(Errc::internal, "the sandbox's files could not be exchanged in time");
  }
  Word word;
  if (read(in.get(), &word, sizeof(word)) != sizeof(word))
    return fail(Errc::internal, "the sandbox's files could not be exchanged: the helper ended without a word");
  return judge(word);
}

}  // namespace cove::native
