#pragma once

// What our things are called in an engine that others use, too.

#include <string>

#include "base/hash.h"

namespace cove::engine {

// COVE_HOME of a sandbox's directory, $COVE_HOME/sandboxes/NAME.
std::string home_of(const std::string& directory);

// "cove-HASH-NAME": one sandbox name in two homes is two containers.
std::string container_name(const std::string& home, const std::string& sandbox);
std::string container_prefix(const std::string& home);

// Behind a container's name: another one, for a moment, that never runs. No sandbox's name has capital letters.
inline constexpr const char* kCopySuffix = "-COPY";

// What a sealed layer is called as an image.
std::string layer_image(const std::string& id);

// Labels on everything we make.
inline constexpr const char* kHomeLabel = "cove.home";        // hash of COVE_HOME
inline constexpr const char* kSandboxLabel = "cove.sandbox";  // its name
inline constexpr const char* kOwnerLabel = "cove.owner";      // who made it, by number
inline constexpr const char* kLayerLabel = "cove.layer";      // on images: hash of COVE_HOME
inline constexpr const char* kBaseLabel = "cove.base";        // the sealed layer that it was made of, if any
inline constexpr const char* kSpecLabel = "cove.spec";        // digest of what it was made as

}  // namespace cove::engine
