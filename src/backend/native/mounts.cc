#include "backend/native/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

namespace cove::native {
namespace {

constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV;
constexpr std::size_t kMostValue = 255;  // of one parameter of fsconfig

struct Text {
  std::array<char, 4096> bytes{};  // what mount(2) takes
  std::size_t size = 0;
  bool add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(bytes.data() + size, bytes.size() - size, format, arguments);
    va_end(arguments);
    if (n < 0 || size + static_cast<std::size_t>(n) >= bytes.size()) return errno = ENAMETOOLONG, false;
    size += static_cast<std::size_t>(n);
    return true;
  }
};

bool make_directory(const char* path, mode_t mode = 0755) { return mkdir(path, mode) == 0 || errno == EEXIST; }

bool make_file(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return false;
  close(fd);
  return true;
}

bool bind(const char* source, const char* target) { return mount(source, target, nullptr, MS_BIND, nullptr) == 0; }

// Of a bind in a user namespace the flags that the source has are locked: they must be named again.
bool make_read_only(const char* target, unsigned long more = 0) {
  const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | more;
  if (mount(nullptr, target, nullptr, flags, nullptr) == 0) return true;
  return errno == EPERM && mount(nullptr, target, nullptr, flags | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

// With nothing, if it is there.
bool cover(const char* directory) {
  return mount("empty", directory, "tmpfs", kPlain | MS_RDONLY, "size=0,mode=0555") == 0 || errno == ENOENT;
}

// By descriptor: the directories on the way belong to the keeper alone.
bool name_lowers(const Layer& layer, const Scene::LayerFds& fds, Text& text) {
  for (std::size_t i = 0; i < layer.lowers.size(); ++i) {
    if (!text.add("%s/proc/self/fd/%d", i == 0 ? "" : ":", fds.lowers[i])) return false;
  }
  return true;
}

bool mount_layer(const Layer& layer, const Scene::LayerFds& fds) {
  Text data;
  if (!data.add("userxattr,lowerdir=") || !name_lowers(layer, fds, data)) return false;
  if (!data.add(",upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d", fds.upper, fds.work)) return false;
  return mount("overlay", layer.target.c_str(), "overlay", kPlain, data.bytes.data()) == 0;
}

int make_other_layers(void* scene) {
  Scene& with = *static_cast<Scene*>(scene);
  for (std::size_t i = 1; i < with.plan->layers.size(); ++i)
    with.layers[i].mounted = make_layer(with.plan->layers[i], with.layers[i]);
  return 0;
}

bool place_layer(const Layer& layer, const Scene::LayerFds& fds) {
  if (fds.mounted < 0) return mount_layer(layer, fds);
  const bool placed =
      syscall(SYS_move_mount, fds.mounted, "", AT_FDCWD, layer.target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
  close(fds.mounted);
  return placed;
}

bool place_disk(const Plan& plan) {
  Text at;
  if (plan.disk < 0) return true;
  if (!at.add("%s/disk", kStage) || !make_directory(at.bytes.data())) return false;
  return syscall(SYS_move_mount, plan.disk, "", AT_FDCWD, at.bytes.data(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

// Where changes do not go to directories of the host: to the sandbox's own disk, or to memory.
bool make_changes_elsewhere(const Plan& plan, Scene& scene) {
  if (!place_disk(plan)) return false;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    for (const auto& [name, fd] :
         {std::pair<const char*, int*>{"upper", &scene.layers[i].upper}, {"work", &scene.layers[i].work}}) {
      Text path;
      if (!path.add("%s%s/%s-%s", kStage, plan.disk < 0 ? "" : "/disk", plan.layers[i].name.c_str(), name))
        return false;
      if (!make_directory(path.bytes.data())) return false;
      *fd = open(path.bytes.data(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (*fd < 0) return false;
    }
  }
  return true;
}

bool set_attributes(const char* target, bool read_only) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0U);
  if (syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &attributes, sizeof(attributes)) == 0) return true;
  if (errno != ENOSYS || read_only) return false;
  return mount(nullptr, target, nullptr, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, nullptr) == 0;
}

bool mount_volume(const Plan& plan, const Volume& volume, int source) {
  struct stat info{};
  if (fstatat(source, "", &info, AT_EMPTY_PATH) < 0) return false;
  if (!prepare_target(volume.target.c_str(), S_ISDIR(info.st_mode))) return false;
  const char* target = volume.target.c_str() + 1;  // relative to the new root
  if (plan.volumes_are_sent) {
    return syscall(SYS_move_mount, source, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) == 0;
  }
  Text from;
  if (!from.add("/proc/self/fd/%d", source)) return false;
  return mount(from.bytes.data(), target, nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         set_attributes(target, volume.read_only);
}

// From a read-only mount that has no place: nothing inside can name the program, and nothing can write to it through
// /proc/1/exe. False where the newer calls are missing.
bool bring_guest_by_itself(Scene& scene) {
  constexpr unsigned kFlags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
  const int tree = static_cast<int>(syscall(SYS_open_tree, scene.guest, "", kFlags));
  if (tree < 0) return false;
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
    return close(tree), false;
  close(scene.guest);
  scene.guest = tree;
  return true;
}

}  // namespace

// Makes the target below the new root, which is the working directory, component by component, and never through a
// symlink: the image and what a sandbox did earlier are not to be trusted.
bool prepare_target(const char* target, bool directory) {
  int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (at >= 0 && *target == '/') {
    while (*target == '/') ++target;
    const std::size_t length = std::strcspn(target, "/");
    std::array<char, 256> name{};
    if (length >= name.size()) return errno = ENAMETOOLONG, false;
    std::memcpy(name.data(), target, length);
    target += length;
    const bool last = *target == '\0';
    int next = -1;
    if (last && !directory) {
      const int made = openat(at, name.data(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
      if (made < 0) return close(at), false;
      close(made);
      return close(at), true;
    }
    if (mkdirat(at, name.data(), 0755) == 0 || errno == EEXIST) {
      next = openat(at, name.data(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    }
    close(at);
    at = next;
  }
  if (at < 0) return false;
  close(at);
  return true;
}

// The same by the newer calls, which make a mount that has no place yet. -1 where they are missing or their limits too
// narrow: then the other way is taken.
int make_layer(const Layer& layer, const Scene::LayerFds& fds) {
  Text upper, work;
  if (!upper.add("/proc/self/fd/%d", fds.upper) || !work.add("/proc/self/fd/%d", fds.work)) return -1;
  const int context = static_cast<int>(syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  const auto set = [&](const char* key, const char* value) {
    return syscall(SYS_fsconfig, context, value != nullptr ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, value, 0) ==
           0;
  };
  const auto set_lowers = [&] {
    Text all;
    if (name_lowers(layer, fds, all) && all.size <= kMostValue) return set("lowerdir", all.bytes.data());
    for (std::size_t i = 0; i < layer.lowers.size(); ++i) {  // one by one: Linux 6.5
      Text one;
      if (!one.add("/proc/self/fd/%d", fds.lowers[i]) || !set("lowerdir+", one.bytes.data())) return false;
    }
    return true;
  };
  const bool made = set("source", "overlay") && set("userxattr", nullptr) && set_lowers() &&
                    set("upperdir", upper.bytes.data()) && set("workdir", work.bytes.data()) &&
                    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  const int mount =
      made ? static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))
           : -1;
  close(context);
  return mount;
}

int open_plainly(const char* path, int flags) {
  int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (at >= 0) {
    while (*path == '/') ++path;
    if (*path == '\0') return at;
    const std::size_t length = std::strcspn(path, "/");
    std::array<char, 256> name{};
    if (length >= name.size()) return close(at), errno = ENAMETOOLONG, -1;
    std::memcpy(name.data(), path, length);
    path += length;
    const int next = openat(at, name.data(), O_PATH | O_CLOEXEC | O_NOFOLLOW | (*path == '\0' ? flags : O_DIRECTORY));
    close(at);
    at = next;
    struct stat info{};
    if (at >= 0 && fstat(at, &info) == 0 && S_ISLNK(info.st_mode)) return close(at), errno = ELOOP, -1;
  }
  return -1;
}

bool open_layers(const Plan& plan, Scene& scene) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    Scene::LayerFds& fds = scene.layers[i];
    scene.at = static_cast<int>(i);
    const std::size_t own = layer.lowers.size() - (layer.volume < 0 ? 0 : 1);  // a volume comes otherwise
    for (std::size_t k = 0; k < own; ++k) {
      fds.lowers[k] = open(layer.lowers[k].c_str(), kFlags);
      if (fds.lowers[k] < 0) return false;
    }
    if (plan.disk_bytes > 0) continue;
    fds.upper = open(layer.upper.c_str(), kFlags);
    fds.work = open(layer.work.c_str(), kFlags);
    if (fds.upper < 0 || fds.work < 0) return false;
  }
  scene.at = -1;
  scene.guest = open(plan.guest.c_str(), O_PATH | O_CLOEXEC);
  return scene.guest >= 0;
}

bool open_volumes(const Plan& plan, Scene& scene) {
  if (plan.volumes_are_sent) return true;
  for (std::size_t i = 0; i < plan.volumes.size(); ++i) {
    scene.at = static_cast<int>(i);
    scene.volumes[i] = open_plainly(plan.volumes[i].source.c_str(), 0);
    if (scene.volumes[i] < 0) return false;
  }
  scene.at = -1;
  return true;
}

bool detach_mounts(const Plan& plan, Scene&) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return false;
  Text size;
  const bool in_memory = plan.disk_bytes > 0 && plan.disk < 0;
  if (!size.add("mode=0755,size=%llu", static_cast<unsigned long long>(in_memory ? plan.disk_bytes : 65536)))
    return false;
  return mount("cove", kStage, "tmpfs", kPlain, size.bytes.data()) == 0;
}

// A mount from the keeper has no place yet, and an overlay takes only what has one.
bool open_copies(const Plan& plan, Scene& scene) {
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    if (layer.volume < 0) continue;
    int& source = scene.volumes[static_cast<std::size_t>(layer.volume)];
    int& lowest = scene.layers[i].lowers[layer.lowers.size() - 1];
    lowest = source;
    if (!plan.volumes_are_sent) continue;
    scene.at = layer.volume;
    Text at;
    if (!at.add("%s/copy-%d", kStage, layer.volume) || !make_directory(at.bytes.data())) return false;
    if (syscall(SYS_move_mount, source, "", AT_FDCWD, at.bytes.data(), MOVE_MOUNT_F_EMPTY_PATH) < 0) return false;
    lowest = open(at.bytes.data(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (lowest < 0) return false;
  }
  scene.at = -1;
  return true;
}

bool begin_layers(const Plan& plan, Scene& scene) {
  if (plan.disk_bytes > 0 && !make_changes_elsewhere(plan, scene)) return false;
  if (plan.layers.size() > 1) scene.layer_maker.start(make_other_layers, &scene);
  return true;
}

bool mount_layers(const Plan& plan, Scene& scene) {
  if (chdir(kStage) < 0 || !make_directory("root") || chdir("root") < 0) return false;
  scene.at = 0;
  if (!mount_layer(plan.layers[0], scene.layers[0])) return false;
  scene.at = -1;
  if (chdir("..") < 0 || chdir("root") < 0) return false;  // onto what was mounted
  const bool made = mkdir("tmp", 01777) == 0;              // an image may have none
  return (!made || chmod("tmp", 01777) == 0) && make_directory("workspace");
}

bool place_layers(const Plan& plan, Scene& scene) {
  scene.layer_maker.join();
  for (std::size_t i = 1; i < plan.layers.size(); ++i) {
    scene.at = static_cast<int>(i);
    const Layer& layer = plan.layers[i];
    if (layer.volume >= 0 && !prepare_target(plan.volumes[static_cast<std::size_t>(layer.volume)].target.c_str(), true))
      return false;
    if (!place_layer(layer, scene.layers[i])) return false;
  }
  scene.at = -1;
  return true;
}

bool mount_proc(const Plan&, Scene&) {
  return make_directory("proc") && mount("proc", "proc", "proc", kPlain | MS_NOEXEC, "hidepid=invisible,gid=0") == 0;
}

bool mount_dev(const Plan&, Scene&) {
  if (!make_directory("dev") || mount("dev", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=65536") < 0)
    return false;
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    Text from, to;
    if (!from.add("/dev/%s", name) || !to.add("dev/%s", name)) return false;
    if (!make_file(to.bytes.data()) || !bind(from.bytes.data(), to.bytes.data())) return false;
  }
  constexpr std::array<std::pair<const char*, const char*>, 5> kLinks{{{"pts/ptmx", "dev/ptmx"},
                                                                       {"/proc/self/fd", "dev/fd"},
                                                                       {"/proc/self/fd/0", "dev/stdin"},
                                                                       {"/proc/self/fd/1", "dev/stdout"},
                                                                       {"/proc/self/fd/2", "dev/stderr"}}};
  for (const auto& [to, link] : kLinks) {
    if (symlink(to, link) < 0) return false;
  }
  return make_directory("dev/pts") && make_directory("dev/shm") &&
         mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") == 0 &&
         mount("shm", "dev/shm", "tmpfs", kPlain, "mode=1777,size=67108864") == 0;
}

bool mount_sys(const Plan& plan, Scene&) {
  if (!plan.sys) return true;
  if (!prepare_target("/sys", true)) return false;
  if (plan.host_sys >= 0)
    return syscall(SYS_move_mount, plan.host_sys, "", AT_FDCWD, "sys", MOVE_MOUNT_F_EMPTY_PATH) == 0;
  return mount("sysfs", "sys", "sysfs", kPlain | MS_NOEXEC | MS_RDONLY, nullptr) == 0;
}

bool mount_volumes(const Plan& plan, Scene& scene) {
  for (std::size_t i = 0; i < plan.volumes.size(); ++i) {
    if (plan.volumes[i].copied) continue;
    scene.at = static_cast<int>(i);
    if (!mount_volume(plan, plan.volumes[i], scene.volumes[i])) return false;
    close(scene.volumes[i]);
  }
  scene.at = -1;
  return true;
}

bool write_resolver(const Plan& plan, Scene&) {
  if (plan.resolv_conf.empty()) return true;
  if (!prepare_target("/etc", true)) return false;
  unlink("etc/resolv.conf");
  const int fd = open("etc/resolv.conf", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const auto size = static_cast<ssize_t>(plan.resolv_conf.size());
  const bool written = write(fd, plan.resolv_conf.data(), plan.resolv_conf.size()) == size;
  close(fd);
  return written;
}

// By itself, or from a mount that is then taken away again.
bool bring_guest(const Plan&, Scene& scene) {
  if (bring_guest_by_itself(scene)) return true;
  constexpr const char* kAt = "dev/.guest";
  Text from;
  if (!from.add("/proc/self/fd/%d", scene.guest) || !make_file(kAt)) return false;
  if (!bind(from.bytes.data(), kAt) || !make_read_only(kAt, MS_NOSUID)) return false;
  scene.guest = open(kAt, O_RDONLY | O_CLOEXEC);
  return scene.guest >= 0 && umount2(kAt, MNT_DETACH) == 0 && unlink(kAt) == 0;
}

bool enter_root(const Plan&, Scene&) {
  if (syscall(SYS_pivot_root, ".", ".") < 0) return false;
  return umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

// What tells of the machine's firmware, power and disks, or leads into the kernel's own affairs.
bool mask_sys(const Plan& plan, Scene&) {
  if (!plan.sys) return true;
  for (const char* empty : {"sys/firmware", "sys/devices/virtual/powercap", "sys/dev/block", "sys/kernel/debug",
                            "sys/kernel/tracing", "sys/kernel/security", "sys/fs/selinux", "sys/fs/bpf"}) {
    if (!cover(empty)) return false;
  }
  for (const char* hidden : {"sys/kernel/vmcoreinfo", "sys/kernel/notes"}) {
    if (!bind("dev/null", hidden) && errno != ENOENT) return false;
  }
  return true;
}

// Before the layers are waited for: this takes about as long as that.
bool mask_proc(const Plan&, Scene&) {
  for (const char* hidden : {"proc/kcore", "proc/keys", "proc/timer_list", "proc/sched_debug", "proc/latency_stats",
                             "proc/kpagecount", "proc/kpageflags", "proc/kmsg"}) {
    if (!bind("dev/null", hidden) && errno != ENOENT) return false;
  }
  for (const char* empty : {"proc/acpi", "proc/scsi"}) {
    if (!cover(empty)) return false;
  }
  for (const char* fixed : {"proc/sys", "proc/sysrq-trigger", "proc/irq", "proc/bus", "proc/fs"}) {
    const bool there = mount(fixed, fixed, nullptr, MS_BIND | MS_REC, nullptr) == 0;
    if (!there && errno == ENOENT) continue;
    if (!there || !make_read_only(fixed, kPlain | MS_NOEXEC)) return false;
  }
  return true;
}

}  // namespace cove::native
