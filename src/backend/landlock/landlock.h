#pragma once

// A process of this machine behind Landlock, a system call filter and no_new_privs: what remains where user namespaces
// are refused. Sessions start in the sandbox's own workspace (HOME; a --cwd of /workspace means it) and have a
// temporary directory of their own (TMPDIR).
//
// Guarantees (as this user; as root too, which keeps its number but no capability):
//   * files are made, changed, renamed and removed only below the workspace and that temporary directory; no device
//     files are made;
//   * contents and directories are read only there and in the system view: /usr /bin /sbin /lib* /opt, of /etc what
//     everybody may read, /proc, /dev/{null,zero,full,random,urandom,tty,ptmx,pts}, and cove-guest itself;
//   * with --net none (the default) no socket of any family can be made but pairs, and TCP is refused once more by
//     Landlock (version 4);
//   * no unix socket can be made but pairs, whatever --net is: neither service managers nor agents are reachable;
//   * signals reach only the sandbox's own processes (Landlock version 6; the probe tells if it is older), and other
//     processes' memory, descriptors and environment are out of reach;
//   * no shared memory, semaphores or message queues of other processes;
//   * no new privileges, no capabilities, the system calls of os/seccomp.h only;
//   * no process outlives destroy().
// Not guaranteed: Landlock does not cover metadata, so that anything can be stat'ed, and modes, owners, times and
// attributes of this user's files can be changed by name. Processes of the machine can be listed, their arguments read,
// their priority changed. Terminals that this user has open can be read and written. No limit is enforced: cpus,
// memory, pids and disk are refused, as are images and volumes. A kernel bug is a way out.

#include "backend/backend.h"

namespace cove::landlock {

class LandlockBackend final : public Backend {
 public:
  std::string_view name() const override { return "landlock"; }
  Probe probe(Deadline deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
};

}  // namespace cove::landlock
