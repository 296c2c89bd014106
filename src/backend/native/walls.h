#pragma once

// What the first process gives up before it runs the guest. Steps as in mounts.h.
//
// Kept of the capabilities, and only inside the sandbox's own user namespace: what package managers and servers need to
// change owners and modes (CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETFCAP), to become other users (SETUID, SETGID), to
// end their processes (KILL), to change root (SYS_CHROOT) and to listen on low ports (NET_BIND_SERVICE).

#include "backend/native/mounts.h"

namespace cove::native {

bool begin_network(const Plan& plan, Scene& scene);  // beside what follows
bool enter_network(const Plan& plan, Scene& scene);  // with its loopback up
bool raise_walls(const Plan& plan, Scene& scene);

}  // namespace cove::native
