#pragma once

// The mounts of a new sandbox, made by its first process. Each function is a step: false means that errno says why.

#include <array>

#include "backend/native/apart.h"
#include "backend/native/plan.h"

namespace cove::native {

// In the sandbox's own mount namespace, where it hides nothing of anybody's. The new root is made in it, as `root`.
inline constexpr const char* kStage = "/tmp";

// What the steps hand to each other.
struct Scene {
  struct LayerFds {
    std::array<int, kMostLowers> lowers{};
    int upper = -1, work = -1;
    int mounted = -1;  // made beside the rest, to be put in its place
  };
  std::array<LayerFds, kMostLayers> layers;
  std::array<int, kMostVolumes> volumes{};  // sources, or whole mounts from the keeper
  int guest = -1, sync = -1;
  int at = -1;       // the layer or volume that is being worked on
  int network = -1;  // the namespace, made beside the rest
  const Plan* plan = nullptr;
  Apart network_maker, layer_maker;
};

bool open_layers(const Plan& plan, Scene& scene);  // and the guest
bool open_volumes(const Plan& plan, Scene& scene);
bool detach_mounts(const Plan& plan, Scene& scene);
bool open_copies(const Plan& plan, Scene& scene);   // the volumes that are layers
bool begin_layers(const Plan& plan, Scene& scene);  // all but the root, beside what follows
bool mount_layers(const Plan& plan, Scene& scene);  // the root: from here on it is the working directory
bool place_layers(const Plan& plan, Scene& scene);  // the others
bool mount_proc(const Plan& plan, Scene& scene);
bool mount_dev(const Plan& plan, Scene& scene);
bool mount_sys(const Plan& plan, Scene& scene);  // in the network namespace that it is to show
bool mount_volumes(const Plan& plan, Scene& scene);
bool write_resolver(const Plan& plan, Scene& scene);
bool bring_guest(const Plan& plan, Scene& scene);
bool enter_root(const Plan& plan, Scene& scene);
bool mask_proc(const Plan& plan, Scene& scene);
bool mask_sys(const Plan& plan, Scene& scene);

// Makes the target (absolute) below the new root, which is the working directory, component by component, and never
// through a symlink: the image and what a sandbox did earlier are not to be trusted.
bool prepare_target(const char* target, bool directory);

// An overlay that has no place yet, by the newer calls. -1 where they are missing: errno.
int make_layer(const Layer& layer, const Scene::LayerFds& fds);

// Opens an absolute path without following any symlink. -1: errno; ELOOP for a symlink.
int open_plainly(const char* path, int flags);

}  // namespace cove::native
