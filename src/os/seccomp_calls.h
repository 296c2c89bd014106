#pragma once

// Which system calls a sandbox may make. In neither list: ENOSYS. That is meant for
//   * calls newer than this list, and obsolete ones that no program needs (uselib, sysfs, _sysctl, ...);
//   * io_uring, which does file and socket work past the filter, and has had more than its share of kernel bugs;
//   * clone3, whose flags are behind a pointer where no filter can look: every libc falls back to clone;
//   * modify_ldt, which only 16-bit programs want.
// A name that an architecture does not have is left out there. Calls whose arguments decide are in seccomp_compile.cc.

#include <initializer_list>

namespace cove::seccomp {

constexpr std::initializer_list<const char*> kAllowed = {
    // Files by descriptor.
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek",
    "close", "close_range", "dup", "dup2", "dup3", "fcntl", "flock", "fsync", "fdatasync", "sync", "syncfs",
    "sync_file_range", "ftruncate", "fallocate", "fadvise64", "readahead", "sendfile", "copy_file_range", "splice",
    "tee", "vmsplice", "memfd_create", "cachestat", "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents",
    "io_pgetevents",
    // Files by name. chroot and mknod need capabilities that decide for themselves.
    "open", "openat", "openat2", "creat", "truncate", "access", "faccessat", "faccessat2", "stat", "lstat", "fstat",
    "newfstatat", "statx", "statfs", "fstatfs", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "chroot",
    "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "link", "linkat", "unlink",
    "unlinkat", "symlink", "symlinkat", "readlink", "readlinkat", "umask", "utime", "utimes", "utimensat", "futimesat",
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr",
    "fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "removexattr",
    "lremovexattr", "fremovexattr", "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
    // Waiting.
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
    "epoll_pwait2", "eventfd", "eventfd2", "signalfd", "signalfd4", "timerfd_create", "timerfd_settime",
    "timerfd_gettime", "pipe", "pipe2", "pause", "nanosleep", "clock_nanosleep", "alarm", "getitimer", "setitimer",
    "timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete",
    // Memory, where it lies included.
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "mlock", "mlock2", "munlock",
    "mlockall", "munlockall", "membarrier", "remap_file_pages", "pkey_alloc", "pkey_free", "pkey_mprotect",
    "map_shadow_stack", "mbind", "get_mempolicy", "set_mempolicy", "set_mempolicy_home_node", "migrate_pages",
    "move_pages",
    // Threads and locks.
    "futex", "futex_waitv", "futex_wake", "futex_wait", "futex_requeue", "set_robust_list", "get_robust_list", "rseq",
    "set_tid_address", "gettid", "arch_prctl", "restart_syscall",
    // Processes.
    "fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "getpid", "getppid", "getpgid",
    "getpgrp", "setpgid", "getsid", "setsid", "pidfd_open", "pidfd_send_signal", "kill", "tkill", "tgkill",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigtimedwait",
    "rt_sigsuspend", "rt_sigreturn", "sigaltstack", "prctl",
    // Who one is. The user namespace and no_new_privs decide what may be had.
    "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "setuid", "setgid", "setreuid",
    "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups", "capget", "capset",
    // Scheduling and limits.
    "getrlimit", "setrlimit", "getrusage", "times", "sysinfo", "uname", "getpriority", "setpriority", "ioprio_get",
    "ioprio_set", "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_setparam",
    "sched_getscheduler", "sched_setscheduler", "sched_getattr", "sched_setattr", "sched_get_priority_max",
    "sched_get_priority_min", "sched_rr_get_interval", "getcpu",
    // Time is read, never set.
    "time", "gettimeofday", "clock_gettime", "clock_getres", "getrandom",
    // Sockets, once there is one.
    "bind", "connect", "listen", "accept", "accept4", "shutdown", "getsockname", "getpeername", "getsockopt",
    "setsockopt", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg",
    // Walls of a program's own.
    "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"};

// System V IPC and message queues: harmless in an IPC namespace of one's own.
constexpr std::initializer_list<const char*> kIpc = {
    "shmget",     "shmat",     "shmdt",        "shmctl",          "semget",    "semop",
    "semtimedop", "semctl",    "msgget",       "msgsnd",          "msgrcv",    "msgctl",
    "mq_open",    "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr"};

// Known, and an error that says so: EPERM.
constexpr std::initializer_list<const char*> kRefused = {
    // What is mounted where, and other namespaces.
    "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "setns",
    // Files by handle, past every directory on the way; file events of a whole file system.
    "open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark",
    // Programs in the kernel, and a view of its inside.
    "bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "syslog", "init_module", "finit_module", "delete_module",
    "kexec_load", "kexec_file_load",
    // Keyrings are not in any namespace.
    "keyctl", "add_key", "request_key",
    // Other processes' memory and descriptors.
    "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
    // The machine: its clocks (adjtimex could read only, but what it does is behind a pointer), names, devices, quotas.
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname", "reboot", "swapon",
    "swapoff", "acct", "quotactl", "quotactl_fd", "nfsservctl", "vhangup", "iopl", "ioperm"};

}  // namespace cove::seccomp
