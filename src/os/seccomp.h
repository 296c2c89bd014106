#pragma once

// The system call filters of sandboxes. They are allow lists, compiled at build time (seccomp_compile.cc), so that
// starting a sandbox costs one system call and neither keeper nor guest carries the compiler.
//
// What is not on the list fails with ENOSYS, as on a kernel that does not have it: programs then take their older way.
// What is known and refused fails with EPERM, a socket of a refused family with EAFNOSUPPORT. Calls by another
// architecture's numbers (i386, x32) kill the process: their numbers mean something else.
//
// A filter is inherited by every child and cannot be taken off.

#include <linux/filter.h>

#include <span>

namespace cove::os {

// For a process in namespaces of its own.
std::span<const sock_filter> sandbox_filter();

// For a process that shares the host's namespaces. On top of the above it has no way to other processes of the same
// user that a file system wall does not see: no unix sockets but pairs (connecting to one by its path is not covered by
// Landlock, and behind such a path are service managers and container engines), no System V IPC, no message queues, no
// resource limits of others.
std::span<const sock_filter> host_process_filter();
// The same, and socket() fails for every family.
std::span<const sock_filter> host_process_filter_without_network();

// In a child, after no_new_privs is set. No allocation. False: errno says why.
bool install_filter(std::span<const sock_filter> filter);

}  // namespace cove::os
