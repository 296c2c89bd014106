#pragma once

// --volume HOST:INSIDE[:ro|:cow], parsed and resolved once, before anything inside runs.

#include <string>
#include <vector>

#include "backend/native/plan.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::native {

// Refuses what is not absolute, symlinks on the way, sources that hold each other (the sandbox could swap one through
// the other) or that hold `home` (Cove's own state), and targets on which the sandbox's own mounts stand.
Result<std::vector<Volume>> read_volumes(const std::vector<std::string>& given, const std::string& home);

// As sources and targets are written.
std::string without_final_slash(std::string path);

// Their form alone, for a machine that is not this one.
Result<std::vector<Volume>> parse_volumes(const std::vector<std::string>& given);

// As root: the source as a mount whose ids are those of the user namespace, so that files of the caller's are root's
// inside. Not attached anywhere yet.
Result<UniqueFd> clone_volume(const Volume& volume, int user_namespace);

}  // namespace cove::native
