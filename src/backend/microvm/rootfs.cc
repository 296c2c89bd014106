#include "backend/microvm/rootfs.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "backend/microvm/files.h"
#include "backend/microvm/jail.h"
#include "backend/native/layers.h"
#include "os/child.h"
#include "os/clone.h"

namespace cove::microvm {
namespace {

constexpr int kLayout = 1;  // counts changes of what is made here
constexpr std::size_t kKeep = 8;
constexpr std::uint64_t kRoomForMounts = std::uint64_t{1} << 20;
constexpr std::array<const char*, 6> kLeftOut{"usr/share/doc",  "usr/share/man",     "usr/share/info",
                                              "usr/share/help", "usr/share/lintian", "usr/share/gtk-doc"};

bool is_host(const SandboxSpec& spec) { return spec.image.empty() || spec.image == "host"; }

// Of a whole tree: which files, and when each was last changed in any way.
std::uint64_t tree_sum = 0;
int add_to_sum(const char*, const struct stat* info, int, FTW*) {
  const auto mix = [](std::uint64_t value) { tree_sum = (tree_sum ^ value) * 1099511628211ULL; };
  mix(info->st_ino);
  mix(static_cast<std::uint64_t>(info->st_size));
  mix(static_cast<std::uint64_t>(info->st_ctim.tv_sec) * 1'000'000'000 +
      static_cast<std::uint64_t>(info->st_ctim.tv_nsec));
  return 0;
}

std::string key_of(const SandboxSpec& spec, const std::vector<native::Layer>& layers) {
  Key key;
  key.add(static_cast<std::uint64_t>(kLayout));
  for (const std::string& id : spec.layers) key.add(id);
  if (is_host(spec)) {
    // The name of its own part says which /etc it was made of; /usr changes when a package does, or by hand.
    for (const std::string& lower : layers.front().lowers) key.add(lower);
    for (const char* path : {"/var/lib/dpkg/status", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin",
                             "/usr/local/lib", "/usr/local/sbin", "/opt"})
      key.add_file(path);
    return "host-" + key.text();
  }
  if (!spec.image.starts_with('/')) {
    for (const std::string& id : spec.image_layers) key.add(id);
    return "image-" + key.text();
  }
  tree_sum = 1469598103934665603ULL;
  nftw(spec.image.c_str(), add_to_sum, 64, FTW_PHYS);
  return "directory-" + key.add(spec.image).add(tree_sum).text();
}

struct MakePlan : native::Plan {
  int program = -1, out = -1, log = -1;
  bool all_root = false;
};

const MakePlan& own(const native::Plan& plan) { return static_cast<const MakePlan&>(plan); }

// What its maker may not read would end the whole. In the child of a process with one thread, which may allocate.
std::vector<std::string> left_out;
int look_at(const char* path, const struct stat* info, int kind, FTW*) {
  const bool readable = S_ISREG(info->st_mode)   ? access(path, R_OK) == 0
                        : S_ISDIR(info->st_mode) ? kind != FTW_DNR && access(path, R_OK | X_OK) == 0
                                                 : true;
  if ((!readable || kind == FTW_NS) && std::strlen(path) > 2) left_out.emplace_back(path + 2);  // without ./
  return 0;
}

bool look_around(const native::Plan& plan, native::Scene&) {
  if (own(plan).all_root) left_out.assign(kLeftOut.begin(), kLeftOut.end());
  return nftw(".", look_at, 64, FTW_PHYS) == 0;
}

bool make_image(const native::Plan& plan, native::Scene&) {
  const MakePlan& with = own(plan);
  // Names that several files share in a table of their own would be looked for in all directories, also those left out.
  std::vector<std::string> words{"mkfs.erofs", "--quiet", "-x2147483647"};
  if (with.all_root) words.emplace_back("--all-root");
  for (const std::string& path : left_out) words.push_back("--exclude-path=" + path);
  words.push_back("/proc/self/fd/" + std::to_string(with.out));
  words.emplace_back(".");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  fcntl(with.out, F_SETFD, 0);
  for (const auto& [from, to] : {std::pair(plan.null, 0), {with.log, 1}, {with.log, 2}}) {
    if (dup2(from, to) < 0) return false;
  }
  static char* const env[] = {nullptr};
  syscall(SYS_execveat, with.program, "", argv.data(), env, AT_EMPTY_PATH);
  return false;
}

constexpr const char* kNoRemedy = "";
constexpr std::array<native::Step, 9> kSteps{{
    {"open the layers of the image", native::open_layers, "the image and COVE_HOME must be readable by this user"},
    {"wait for the keeper", native::await_keeper, kNoRemedy},
    {"become root inside", native::become_root, kNoRemedy},
    {"detach its mounts", native::detach_mounts, kNoRemedy},
    {"begin its layers", native::begin_layers, kNoRemedy},
    {"mount the image", native::mount_layers, kNoRemedy},
    {"mount the layers of the image", native::place_layers, kNoRemedy},
    {"look at the image", look_around, kNoRemedy},
    {"run mkfs.erofs", make_image, kNoRemedy},
}};

Result<void> finish(os::Child child, int sync, const MakePlan& plan, Deadline deadline) {
  COVE_TRY(const os::ExitStatus status, child.wait(deadline));
  native::StepFailure failure{};
  if (sync >= 0 && recv(sync, &failure, sizeof(failure), MSG_DONTWAIT) == sizeof(failure))
    return fail(native::explain(failure, plan, kSteps));
  if (status.code != 0) return fail(Errc::internal, "mkfs.erofs " + status.text() + ": " + last_words(plan.log));
  return {};
}

// As the layers' owners see it: in a user namespace in which the image's root is root.
Result<void> make_of_layers(MakePlan& plan, const os::Users& users, Deadline deadline) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make a socket");
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  plan.sync = theirs.get();
  plan.keepers_sync = ours.get();
  plan.disk_bytes = kRoomForMounts;  // nothing is changed: its own layer need not be kept
  plan.drop_groups = users.by_root || users.more_gids.count > 0;
  COVE_TRY(os::Cloned cloned, os::clone_process(CLONE_NEWUSER | CLONE_NEWNS));
  if (cloned.pid == 0) {
    native::walk(plan, kSteps);
    _exit(1);
  }
  os::Child child = os::Child::adopt(cloned.pid, std::move(cloned.pidfd));
  theirs.reset();
  COVE_CHECK(os::map_users(users, child.pid(), deadline));
  COVE_CHECK(native::let_go(ours.get(), plan, child.pid()));
  return finish(std::move(child), ours.get(), plan, deadline);
}

// By root, who reads all and sees owners as they are.
Result<void> make_of_directory(const MakePlan& plan, const std::string& program, const std::string& directory,
                               Deadline deadline) {
  os::ExecSpec exec;
  exec.program = program;
  exec.argv = {"mkfs.erofs", "--quiet", "/proc/self/fd/3", directory};
  exec.fds = {{plan.null, 0}, {plan.log, 1}, {plan.log, 2}, {plan.out, 3}};
  COVE_TRY(os::Child child, os::Child::spawn(exec));
  return finish(std::move(child), -1, plan, deadline);
}

Result<void> make(const SandboxSpec& spec, const os::Users& users, std::vector<native::Layer> layers,
                  const std::string& path, Deadline deadline) {
  COVE_TRY(const std::string program, find_program("mkfs.erofs", "apt install erofs-utils"));
  const UniqueFd opened(open(program.c_str(), O_PATH | O_CLOEXEC)), null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd out(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const UniqueFd log(memfd_create("cove-mkfs-log", MFD_CLOEXEC));
  if (!opened || !null || !out || !log) return fail_errno("make " + path);
  MakePlan plan;
  plan.layers = std::move(layers);
  COVE_TRY(plan.guest, find_program("true", ""));  // the steps open one; none is run
  plan.null = null.get();
  plan.program = opened.get();
  plan.out = out.get();
  plan.log = log.get();
  plan.all_root = is_host(spec);
  if (users.by_root && spec.image.starts_with('/') && spec.layers.empty()) {
    COVE_CHECK(make_of_directory(plan, program, spec.image, deadline));
  } else {
    if (users.by_root && fchown(out.get(), users.uid, users.gid) < 0) return fail_errno("give away " + path);
    COVE_CHECK(make_of_layers(plan, users, deadline));
  }
  if (fchown(out.get(), geteuid(), getegid()) < 0 || fchmod(out.get(), 0400) < 0) return fail_errno("keep " + path);
  return {};
}

}  // namespace

Result<std::string> find_program(const std::string& name, const std::string& remedy) {
  const char* path = std::getenv("PATH");
  const std::string all =
      (path == nullptr ? "" : std::string(path) + ":") + "/usr/bin:/usr/sbin:/usr/local/bin:/bin:/sbin";
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    std::string candidate = all.substr(at, end - at) + "/" + name;
    if (candidate.starts_with('/') && access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return fail(Errc::unsupported, "there is no " + name + (remedy.empty() ? "" : ": " + remedy));
}

Result<RootImage> make_root_image(const SandboxSpec& spec, const os::Users& users, const std::string& cache,
                                  Deadline deadline) {
  SandboxSpec plain = spec;
  plain.volumes.clear();  // come in otherwise
  COVE_TRY(auto layers, native::find_layers(plain, users));
  const std::string directory = cache + "/roots";
  if (mkdir(directory.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + directory);
  RootImage image;
  image.key = key_of(spec, layers);
  image.path = directory + "/" + image.key;
  COVE_CHECK(ensure(
      image.path,
      [&](const std::string& aside) -> Result<void> {
        image.made = true;
        prune(directory, kKeep);
        return make(spec, users, std::move(layers), aside, deadline);
      },
      deadline));
  return image;
}

}  // namespace cove::microvm
