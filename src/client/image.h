#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "spec/spec.h"

namespace cove {

// While the result is open no layer of such an image is pruned: from before its layers are looked for until a record
// names them. Nothing for other images.
Result<UniqueFd> hold_image(const SandboxSpec& spec);

// What the image says about a sandbox made of it. Completes a spec whose image is one of the store, fetched first where
// `pull` wants it: its layers, and, where the spec has none, directory, user and command. Gives the variables that the
// image brings. Leaves other images alone.
enum class PullOutput : unsigned char { quiet, shown };
Result<std::vector<std::string>> settle_image(SandboxSpec& spec, PullOutput output = PullOutput::quiet);

}  // namespace cove
