#pragma once

// Saved states of sandboxes: $COVE_HOME/snapshots/TAG, with snapshot.json and the sessions. The files themselves are
// sealed layers, $COVE_HOME/layers/ID, that snapshots and sandboxes share; what nobody names any more is removed by
// clear_layers(). One with memory has also memory/, which is the backend's, and `running`, which is the keeper's.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "spec/spec.h"

namespace cove::record {

using Sessions = std::map<std::string, std::string>;  // by name, what each needs to live on

struct Snapshot {
  std::string tag, sandbox, backend, image, cwd;
  std::string user;
  std::vector<std::string> image_layers;  // as in SandboxSpec
  std::vector<std::string> layers;        // the lowest first
  std::int64_t created_unix = 0;
  Sessions sessions;
  std::vector<std::pair<std::string, std::string>> env;  // of new sessions; forwarded values are not in it
  std::string memory;   // directory of what ran (Place::save_memory); "": nothing that ran is in it
  std::string running;  // with memory: what a keeper must know to go on with it
  SandboxSpec place;    // with memory: as what the place was made, and must be made again
};

// As a sandbox's name. One that begins with a dot is nobody's but ours, and not listed.
Result<void> check_tag(const std::string& tag);

// conflict: the tag is taken. Written aside and renamed: complete or not there. The directory of its memory becomes
// part of it.
Result<void> save_snapshot(const Snapshot& snapshot);
// For Place::save_memory: new, empty and private, where save_snapshot() can take it from. One that nobody takes is
// cleared some time later.
Result<std::string> make_memory_directory();
// invalid: what runs in a snapshot with memory cannot go on in such a place; names the option to leave out.
Result<void> check_place(const SandboxSpec& wanted, const Snapshot& snapshot);
Result<Snapshot> find_snapshot(const std::string& tag);  // not_found names those that are there
Result<std::vector<Snapshot>> list_snapshots();          // oldest first; without sessions
Result<void> remove_snapshot(const std::string& tag);

// Sessions and variables as one string of bytes, to be kept elsewhere; decoding it is safe whatever it is.
std::string encode_state(const Snapshot& snapshot);
Result<void> decode_state(const std::string& bytes, Snapshot& snapshot);

// The images of the store that something stands on. A record that cannot be read may name any: then it is an error.
struct ImageUse {
  std::string who;  // "sandbox a", "snapshot b"
  std::string image;
  std::vector<std::string> layers;  // its diff ids
};
Result<std::vector<ImageUse>> images_in_use();

std::string new_layer_id();
// Removes sealed layers that neither a snapshot nor a sandbox stands on; how many. One that is new may not be written
// down yet and is left for later, unless it is among those that the caller has just given up.
Result<std::size_t> clear_layers(const std::vector<std::string>& given_up = {});

}  // namespace cove::record
