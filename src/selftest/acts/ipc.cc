// System V and POSIX objects of the host.

#include <fcntl.h>
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <cerrno>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

// args: key. Prints what is in the segment.
Act shared_memory(const Args& args) {
  const int id = shmget(static_cast<key_t>(std::stol(args[0])), 0, 0);
  if (id < 0) return refused_by_errno("shmget");
  const void* at = shmat(id, nullptr, SHM_RDONLY);
  if (at == reinterpret_cast<void*>(-1)) return refused_by_errno("shmat");
  return did(static_cast<const char*>(at));
}

// args: name.
Act message_queue(const Args& args) {
  return by_result(mq_open(args[0].c_str(), O_RDONLY | O_CLOEXEC), "mq_open " + args[0]);
}

constexpr Entry kIpcEntries[] = {
    {"shared_memory", shared_memory},
    {"message_queue", message_queue},
};

}  // namespace

std::span<const Entry> ipc_acts() { return kIpcEntries; }

}  // namespace cove::acts
