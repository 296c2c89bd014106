#include "guest/init.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/reboot.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/deadline.h"
#include "os/cgroup_layout.h"
#include "os/net.h"
#include "os/remove_tree.h"

namespace cove::guest {
namespace {

constexpr auto kAppears = std::chrono::seconds(20);
constexpr const char* kGroups = "/sys/fs/cgroup/commands";
constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV | MS_NOEXEC;

std::vector<std::string> names_in(const char* directory) {
  std::vector<std::string> names;
  DIR* listing = opendir(directory);
  while (const dirent* entry = listing != nullptr ? readdir(listing) : nullptr) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  if (listing != nullptr) closedir(listing);
  std::sort(names.begin(), names.end());
  return names;
}

std::string line_of(const std::string& path) {
  const std::string text = os::read_text(path);
  return text.substr(0, text.find('\n'));
}

struct Mount {
  const char *what, *where, *kind;
  unsigned long flags;
  const char* options;
};

Result<void> mount_one(const Mount& one) {
  mkdir(one.where, 0755);
  if (mount(one.what, one.where, one.kind, one.flags, one.options) == 0) return {};
  return fail_errno(std::string("mount ") + one.where);
}

// Their names begin with numbers that say which comes first. Each is gone afterwards: it lies in memory.
Result<void> load_modules() {
  for (const std::string& name : names_in("/modules")) {
    const std::string path = "/modules/" + name;
    const UniqueFd module(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!module || (syscall(SYS_finit_module, module.get(), "", 0) < 0 && errno != EEXIST))
      return fail_errno("load module " + name);
    unlink(path.c_str());
  }
  unlink("/init");
  return {};
}

// Devices are told apart by the serial number that the keeper gave them.
std::string find_disk(const std::string& serial) {
  for (const std::string& name : names_in("/sys/block")) {
    if (line_of("/sys/block/" + name + "/serial") == serial) return "/dev/" + name;
  }
  return "";
}

std::string find_port(const std::string& wanted) {
  for (const std::string& name : names_in("/sys/class/virtio-ports")) {
    if (line_of("/sys/class/virtio-ports/" + name + "/name") == wanted) return "/dev/" + name;
  }
  return "";
}

Result<std::string> await(std::string (*find)(const std::string&), const std::string& name) {
  const Deadline deadline = Deadline::after(kAppears);
  while (!deadline.passed()) {
    std::string path = find(name);
    if (!path.empty() && access(path.c_str(), F_OK) == 0) return path;
    usleep(1000);
  }
  return fail(Errc::not_found, "the device " + name + " does not appear");
}

Result<void> mount_root() {
  COVE_TRY(const std::string image, await(find_disk, "root"));
  COVE_CHECK(mount_one({image.c_str(), "/image", "erofs", MS_RDONLY, nullptr}));
  if (os::has_word(line_of("/proc/cmdline"), "cove.disk")) {
    COVE_TRY(const std::string disk, await(find_disk, "disk"));
    COVE_CHECK(mount_one({disk.c_str(), "/own", "ext4", MS_NOATIME, "discard"}));
    COVE_CHECK(os::remove_tree("/own/files/tmp"));  // does not survive a stop
  } else {
    COVE_CHECK(mount_one({"own", "/own", "tmpfs", 0, "mode=0755,size=80%"}));
  }
  mkdir("/own/files", 0755);
  mkdir("/own/work", 0755);
  return mount_one({"root", "/root", "overlay", 0, "lowerdir=/image,upperdir=/own/files,workdir=/own/work"});
}

// What a sandbox expects to find whatever its image has.
Result<void> furnish() {
  if (chdir("/root") < 0) return fail_errno("enter the root");
  for (const char* directory : {"proc", "sys", "dev", "run", "tmp", "workspace", "root"}) {
    const bool made = mkdir(directory, 0755) == 0;
    if (made && std::string_view(directory) == "tmp") chmod(directory, 01777);
    if (made && std::string_view(directory) == "root") chmod(directory, 0700);
  }
  for (const char* name : {"proc", "sys", "dev"}) {
    const std::string from = std::string("/") + name;
    if (mount(from.c_str(), name, nullptr, MS_MOVE, nullptr) < 0) return fail_errno("move " + from);
  }
  constexpr std::array<Mount, 3> kMounts{
      {{"devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=0620,ptmxmode=0666,gid=5"},
       {"shm", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
       {"run", "run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"}}};
  for (const Mount& one : kMounts) COVE_CHECK(mount_one(one));
  for (const auto& [to, link] : {std::pair{"/proc/self/fd", "dev/fd"},
                                 {"/proc/self/fd/0", "dev/stdin"},
                                 {"/proc/self/fd/1", "dev/stdout"},
                                 {"/proc/self/fd/2", "dev/stderr"}}) [[maybe_unused]]
    const int made = symlink(to, link);
  if (mount(".", "/", nullptr, MS_MOVE, nullptr) < 0 || chroot(".") < 0 || chdir("/") < 0)
    return fail_errno("enter the root");
  return {};
}

unsigned long memory_kib() {
  const std::string text = os::read_text("/proc/meminfo");
  const std::size_t at = text.find("MemTotal:");
  return at == std::string::npos ? 0 : std::strtoul(text.c_str() + at + 9, nullptr, 10);
}

// A kernel without them is good enough: then trees are ended process by process. Whoever takes all memory, or makes
// processes until there is no room for more, leaves enough for the guest to end him.
void make_groups() {
  // Each command enters a group of its own, which waits for a grace period of the kernel's unless that is favoured
  // (6.0).
  if (mount("cgroup", "/sys/fs/cgroup", "cgroup2", kPlain, "nsdelegate,favordynmods") < 0 &&
      mount("cgroup", "/sys/fs/cgroup", "cgroup2", kPlain, "nsdelegate") < 0)
    return;
  for (const char* controller : {"+pids", "+memory"}) [[maybe_unused]]
    const auto handed = os::write_text("/sys/fs/cgroup/cgroup.subtree_control", controller);
  mkdir(kGroups, 0755);
  const unsigned long kib = memory_kib();
  const unsigned long most_processes = std::max(256UL, kib / 1024), reserve = std::max(16384UL, kib / 16);
  const std::string group = kGroups;
  [[maybe_unused]] const auto processes = os::write_text(group + "/pids.max", std::to_string(most_processes));
  [[maybe_unused]] const auto memory = os::write_text(group + "/memory.max", std::to_string((kib - reserve) * 1024));
}

void set_limits() {
  const rlimit files{1024, 1048576};
  setrlimit(RLIMIT_NOFILE, &files);
  [[maybe_unused]] const auto set = os::write_text("/proc/sys/kernel/printk", "1");
}

}  // namespace

Result<UniqueFd> open_port(const std::string& name) {
  COVE_TRY(const std::string path, await(find_port, name));
  UniqueFd port(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!port) return fail_errno("open " + path);
  return port;
}

Result<Ports> begin_machine() {
  COVE_CHECK(mount_one({"proc", "/proc", "proc", kPlain, nullptr}));
  COVE_CHECK(mount_one({"sys", "/sys", "sysfs", kPlain, nullptr}));
  COVE_CHECK(mount_one({"dev", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, nullptr}));
  COVE_CHECK(load_modules());
  COVE_CHECK(mount_root());
  COVE_CHECK(furnish());
  make_groups();
  set_limits();
  os::bring_loopback_up();
  Ports ports;
  if (os::has_word(line_of("/proc/cmdline"), "cove.disk")) ports.disk.reset(open("/", O_RDONLY | O_CLOEXEC));
  COVE_TRY(ports.channel, open_port("cove.channel"));
  COVE_TRY(ports.control, open_port("cove.control"));
  for (const int fd : {ports.channel.get(), ports.control.get()}) fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd) dup2(null.get(), fd);
  return ports;
}

void give_up(const std::string& why) {
  [[maybe_unused]] const auto told = os::write_text("/dev/kmsg", "<0>cove: " + why + "\n");
  end_machine();
}

// By the processor's own way to be reset, which QEMU was told to take for its end.
void end_machine() {
  sync();
  syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART, nullptr);
  _exit(1);
}

std::string command_groups() { return access(kGroups, F_OK) == 0 ? kGroups : ""; }

}  // namespace cove::guest
