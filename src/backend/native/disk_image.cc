#include "backend/native/disk_image.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "os/child.h"

namespace cove::native {
namespace {

constexpr std::uint64_t kLeast = std::uint64_t{8} << 20;  // below that the file system itself is most of it
constexpr int kTries = 64;                                // for a loop device, which others take at the same time

Failure refuse(const std::string& why) {
  return fail(Errc::unsupported, "--disk with --persistent: " + why + "; or leave one of them out");
}

std::string find_mkfs() {
  for (const char* path : {"/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4", "/usr/bin/mkfs.ext4", "/usr/local/sbin/mkfs.ext4"})
    if (access(path, X_OK) == 0) return path;
  return "";
}

Result<void> run_mkfs(const DiskImage& disk, const std::string& path, Deadline deadline) {
  os::ExecSpec spec;
  spec.program = find_mkfs();
  if (spec.program.empty()) return refuse("mkfs.ext4 is not here: install e2fsprogs");
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  // A sparse file is all zeros already: nothing has to be written to make it so.
  spec.argv = {"mkfs.ext4",
               "-q",
               "-F",
               "-m",
               "0",
               "-E",
               "nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=" + std::to_string(disk.users.uid) + ":" +
                   std::to_string(disk.users.gid),
               path};
  spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"};
  spec.fds = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}};
  COVE_TRY(os::Child mkfs, os::Child::spawn(spec));
  COVE_TRY(const os::ExitStatus status, mkfs.wait(deadline));
  if (status.code != 0) return fail(Errc::internal, "make a file system in " + path + ": mkfs.ext4 " + status.text());
  return {};
}

// Made aside and renamed: one that can be seen is whole.
Result<void> make_image(const DiskImage& disk, Deadline deadline) {
  if (access(disk.path.c_str(), F_OK) == 0) return {};
  if (disk.bytes < kLeast) return fail(Errc::invalid, "--disk with --persistent: give at least 8m");
  const std::string aside = disk.path + ".new";
  {
    const UniqueFd file(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return fail_errno("make " + aside);
    if (ftruncate(file.get(), static_cast<off_t>(disk.bytes)) < 0) return fail_errno("make " + aside);
  }
  if (auto made = run_mkfs(disk, aside, deadline); !made) {
    unlink(aside.c_str());
    return made;
  }
  if (rename(aside.c_str(), disk.path.c_str()) < 0) return fail_errno("name " + disk.path);
  return {};
}

// The lock belongs to the open file, and the loop device holds that very file as long as it is set up. So whoever gets
// the lock knows that no loop device, and no mount, is left of the sandbox's earlier life.
Result<UniqueFd> open_locked(const std::string& path, Deadline deadline) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail_errno("open " + path);
  while (flock(file.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno("lock " + path);
    if (deadline.passed()) return fail(Errc::busy, "the sandbox's disk " + path + " is still in use");
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return file;
}

Result<std::string> attach(int file, UniqueFd& device) {
  const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return refuse(errno_error(errno, "open /dev/loop-control").message + ": it needs loop devices");
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(file);
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  for (int i = 0; i < kTries; ++i) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return fail_errno("find a free loop device");
    std::string path = "/dev/loop" + std::to_string(number);
    device.reset(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!device) return refuse(errno_error(errno, "open " + path).message);
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return path;
    if (errno != EBUSY) return refuse(errno_error(errno, "set up " + path).message + " (it needs Linux 5.8)");
  }
  return fail(Errc::busy, "all loop devices are taken by others all the time");
}

Result<UniqueFd> make_mount(const std::string& device) {
  const UniqueFd context(static_cast<int>(syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC)));
  if (!context) return refuse(errno_error(errno, "mount an ext4 file system").message);
  const auto set = [&](const char* key, const char* value) {
    const unsigned command = value != nullptr ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
    return syscall(SYS_fsconfig, context.get(), command, key, value, 0) == 0;
  };
  // What is deleted inside leaves the file, too; and the inode tables, zeros of a sparse file, are left alone.
  const bool made = set("source", device.c_str()) && set("discard", nullptr) && set("noinit_itable", nullptr) &&
                    set("errors", "remount-ro") &&
                    syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  if (!made) return fail_errno("mount the sandbox's disk");
  UniqueFd mount(
      static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)));
  if (!mount) return fail_errno("mount the sandbox's disk");
  return mount;
}

}  // namespace

Result<UniqueFd> mount_disk(const DiskImage& disk, Deadline deadline) {
  if (!disk.users.by_root)
    return refuse(
        "files that outlive a stop are held to a size by a file system of their own, which takes root: run "
        "cove as root");
  COVE_CHECK(make_image(disk, deadline));
  COVE_TRY(const UniqueFd file, open_locked(disk.path, deadline));
  UniqueFd device;
  COVE_TRY(const std::string path, attach(file.get(), device));
  return make_mount(path);
}

bool probe_disk() { return geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0 && !find_mkfs().empty(); }

Result<void> await_free(const std::string& path, Deadline deadline) {
  if (access(path.c_str(), F_OK) < 0) return {};
  return open_locked(path, deadline).map([](const UniqueFd&) {});
}

}  // namespace cove::native
