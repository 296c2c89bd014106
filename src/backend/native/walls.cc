#include "backend/native/walls.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/capabilities.h"
#include "os/net.h"
#include "os/seccomp.h"

namespace cove::native {
namespace {

constexpr std::array<int, 10> kKept{CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,     CAP_KILL,
                                    CAP_SETGID, CAP_SETUID,       CAP_SETFCAP, CAP_SYS_CHROOT, CAP_NET_BIND_SERVICE};

bool limit(int resource, rlim_t most, rlim_t reserve = 0) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) < 0) return false;
  now.rlim_max = std::min(now.rlim_max, most < RLIM_INFINITY - reserve ? most + reserve : most);
  now.rlim_cur = std::min({now.rlim_cur, now.rlim_max, most});
  return setrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0;
}

int make_network(void* scene) {
  if (syscall(SYS_unshare, CLONE_NEWNET) < 0) return errno;
  if (const int error = os::bring_loopback_up(); error != 0) return error;
  const int made = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  static_cast<Scene*>(scene)->network = made;
  return made < 0 ? errno : 0;
}

}  // namespace

bool begin_network(const Plan& plan, Scene& scene) {
  if (plan.makes_network) scene.network_maker.start(make_network, &scene);
  return true;
}

bool enter_network(const Plan& plan, Scene& scene) {
  if (!plan.own_network) return true;
  errno = plan.makes_network ? scene.network_maker.join() : os::bring_loopback_up();
  if (errno != 0 || !plan.makes_network) return errno == 0;
  return setns(scene.network, CLONE_NEWNET) == 0 && close(scene.network) == 0;
}

bool raise_walls(const Plan& plan, Scene&) {
  if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_MEMLOCK, 8U << 20)) return false;
  // The guest takes what is between the soft limit and the hard one for itself.
  if (!limit(RLIMIT_NPROC, plan.most_processes, kReservedProcesses)) return false;
  if (!os::bound_capabilities(kKept) || !os::set_capabilities(kKept) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return false;
  return os::install_filter(os::sandbox_filter());
}

}  // namespace cove::native
