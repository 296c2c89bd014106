#include "backend/engine/door.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "os/remove_tree.h"

namespace cove::engine {
namespace {

// A directory that is mounted in a container must not be replaced, so what is in it is removed one by one.
Result<void> empty_out(int directory) {
  COVE_TRY(const auto names, os::names_in(directory));
  for (const std::string& name : names) COVE_CHECK(os::remove_mapped_tree_at(directory, name));
  return {};
}

}  // namespace

Result<Door> Door::make(const std::string& path) {
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  Door door;
  door.directory_.reset(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!door.directory_) return fail_errno("open " + path);
  COVE_CHECK(empty_out(door.directory_.get()));
  // Whom the image wants to be may be anybody; outside, the directory above is ours alone.
  if (fchmod(door.directory_.get(), 0777) < 0) return fail_errno("open up " + path);
  door.watch_.reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const std::string here = "/proc/self/fd/" + std::to_string(door.directory_.get());
  if (!door.watch_ || inotify_add_watch(door.watch_.get(), here.c_str(), IN_CREATE | IN_MOVED_TO) < 0)
    return fail_errno("watch " + path);
  return door;
}

void Door::drain() const {
  std::array<char, 4096> events{};
  while (read(watch_.get(), events.data(), events.size()) > 0) {}
}

Result<UniqueFd> Door::try_connect() const {
  if (!directory_) return UniqueFd();
  const UniqueFd handle(openat(directory_.get(), "socket", O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!handle) return UniqueFd();
  struct stat info{};
  if (fstat(handle.get(), &info) < 0 || !S_ISSOCK(info.st_mode))
    return fail(Errc::denied, "what lies in the place of the guest's socket is no socket");
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(handle.get());
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
  if (errno == ECONNREFUSED || errno == EAGAIN) return UniqueFd();  // bound, but not listening yet
  return fail_errno("connect to the guest");
}

pid_t listener_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

}  // namespace cove::engine
