#include "record/snapshots.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.h"
#include "os/remove_tree.h"
#include "os/spread.h"
#include "proto/guest.h"
#include "record/files.h"
#include "record/home.h"
#include "record/json.h"
#include "record/record.h"

namespace cove::record {
namespace {

using Json = nlohmann::json;

// Kept long enough that a layer which was sealed but is not written down yet cannot be taken for a leftover.
constexpr std::int64_t kGraceSeconds = 60;
// What is ours in passing (a fork's snapshot) may be needed for as long as a thousand forks take.
constexpr std::int64_t kPassingSeconds = 3600;

// By a time that only we can set: the sandbox's own directories are below these.
bool is_older(int folder, const std::string& name, std::int64_t seconds) {
  struct stat info{};
  return fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         std::time(nullptr) - info.st_mtim.tv_sec >= seconds;
}

Result<UniqueFd> open_folder(const char* name) {
  COVE_TRY(const std::string path, home());
  const std::string folder = path + "/" + name;
  COVE_CHECK(os::make_spread_directory(folder));
  return open_private_directory(AT_FDCWD, folder, folder);
}

// As what the place was made; the values of its variables are in its memory, not here.
std::string place_json(SandboxSpec spec) {
  spec.env.clear();
  return spec_to_json({.spec = std::move(spec), .created_unix = 0, .writing = 0});
}

std::string to_json(const Snapshot& snapshot) {
  Json json{{"version", 1},
            {"tag", snapshot.tag},
            {"sandbox", snapshot.sandbox},
            {"backend", snapshot.backend},
            {"image", snapshot.image},
            {"cwd", snapshot.cwd},
            {"user", snapshot.user},
            {"image_layers", snapshot.image_layers},
            {"layers", snapshot.layers},
            {"created", snapshot.created_unix}};
  if (!snapshot.memory.empty()) json["place"] = place_json(snapshot.place);
  return json_text(json);
}

Result<Snapshot> from_json(const std::string& tag, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto damaged = [&] {
    return fail(Errc::invalid, "snapshot " + tag + " is damaged: remove it with 'cove snapshot rm " + tag + "'");
  };
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array()) return damaged();
  Snapshot snapshot;
  snapshot.tag = tag;
  const auto word = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  snapshot.sandbox = word("sandbox");
  snapshot.backend = word("backend");
  snapshot.image = word("image");
  snapshot.cwd = word("cwd");
  snapshot.user = word("user");
  for (const Json& layer : json.value("image_layers", Json::array())) {
    if (!layer.is_string()) return damaged();
    snapshot.image_layers.push_back(layer.get<std::string>());
  }
  if (json.contains("created") && json["created"].is_number_integer())
    snapshot.created_unix = json["created"].get<std::int64_t>();
  for (const Json& layer : json["layers"]) {
    if (!layer.is_string() || !check_name(layer.get<std::string>())) return damaged();
    snapshot.layers.push_back(layer.get<std::string>());
  }
  if (const std::string place = word("place"); !place.empty()) {
    const auto stored = spec_from_json(place);
    if (!stored) return damaged();
    snapshot.place = stored->spec;
  }
  return snapshot;
}

// What may hold secrets of the sandbox's own making, in a file of its own.
struct Inner {
  std::vector<std::string> names, states, keys, values;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.names, s.states, s.keys, s.values);
  }
};

Result<Snapshot> read_snapshot(int folder, const std::string& tag) {
  COVE_TRY(const UniqueFd directory, open_private_directory(folder, tag, "snapshot " + tag));
  COVE_TRY(const std::string text, read_file_at(directory.get(), "snapshot.json"));
  COVE_TRY(Snapshot snapshot, from_json(tag, text));
  if (faccessat(directory.get(), "memory", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    COVE_TRY(const std::string path, home());
    snapshot.memory = path + "/snapshots/" + tag + "/memory";
    COVE_TRY(snapshot.running, read_file_at(directory.get(), "running"));
  }
  const auto bytes = read_file_at(directory.get(), "sessions");
  if (!bytes) return snapshot;
  COVE_CHECK(decode_state(*bytes, snapshot));
  return snapshot;
}

std::string hex(std::size_t bytes) {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), bytes, 0) < 0) random[0] = static_cast<unsigned char>(getpid());
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    char pair[3];
    std::snprintf(pair, sizeof(pair), "%02x", random[i]);
    text += pair;
  }
  return text;
}

// Snapshots that are nobody's: half made, half removed, or of a fork whose maker was killed.
void clear_passing(int folder, const std::vector<std::string>& tags) {
  for (const std::string& tag : tags) {
    if (tag.starts_with(".") && is_older(folder, tag, kPassingSeconds)) [[maybe_unused]]
      const auto removed = os::remove_tree_at(folder, tag);
  }
}

// What sandboxes and snapshots are made of.
struct Used {
  ImageUse image;
  std::vector<std::string> layers;
};

// A record that cannot be read may name anything: then nothing may be removed.
Result<std::vector<Used>> all_in_use() {
  std::vector<Used> all;
  COVE_TRY(const UniqueFd folder, open_folder("snapshots"));
  COVE_TRY(const auto there, os::names_in(folder.get()));
  clear_passing(folder.get(), there);
  COVE_TRY(const auto tags, os::names_in(folder.get()));
  for (const std::string& tag : tags) {
    if (tag.starts_with(".new-")) continue;
    auto snapshot = read_snapshot(folder.get(), tag);
    if (!snapshot && faccessat(folder.get(), tag.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) < 0) continue;  // removed just now
    if (!snapshot) return fail(std::move(snapshot).error().because("read snapshot " + tag));
    all.push_back({{"snapshot " + tag, snapshot->image, snapshot->image_layers}, snapshot->layers});
  }
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  COVE_TRY(const auto names, os::names_in(sandboxes.get()));
  for (const std::string& name : names) {
    const UniqueFd directory(openat(sandboxes.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!directory) continue;
    const auto stored = read_spec(directory.get());
    if (!stored && stored.error().code == Errc::not_found) continue;
    if (!stored) return fail(stored.error());
    all.push_back({{"sandbox " + name, stored->spec.image, stored->spec.image_layers}, stored->spec.layers});
  }
  return all;
}

// Every layer that something stands on.
Result<std::set<std::string>> layers_in_use() {
  COVE_TRY(const auto all, all_in_use());
  std::set<std::string> used;
  for (const Used& one : all) used.insert(one.layers.begin(), one.layers.end());
  return used;
}

}  // namespace

std::string encode_state(const Snapshot& snapshot) {
  Inner inner;
  for (const auto& [name, state] : snapshot.sessions) inner.names.push_back(name), inner.states.push_back(state);
  for (const auto& [key, value] : snapshot.env) inner.keys.push_back(key), inner.values.push_back(value);
  return proto::encode(inner);
}

Result<void> decode_state(const std::string& bytes, Snapshot& snapshot) {
  COVE_TRY(const auto inner, proto::decode<Inner>(bytes));
  if (inner.names.size() != inner.states.size() || inner.keys.size() != inner.values.size())
    return fail(Errc::invalid, "snapshot " + snapshot.tag + " is damaged");
  for (std::size_t i = 0; i < inner.names.size(); ++i) snapshot.sessions[inner.names[i]] = inner.states[i];
  for (std::size_t i = 0; i < inner.keys.size(); ++i) snapshot.env.emplace_back(inner.keys[i], inner.values[i]);
  return {};
}

Result<std::vector<ImageUse>> images_in_use() {
  COVE_TRY(auto all, all_in_use());
  std::vector<ImageUse> used;
  for (Used& one : all) {
    if (!one.image.layers.empty()) used.push_back(std::move(one.image));
  }
  return used;
}

Result<void> check_tag(const std::string& tag) {
  const std::string plain = tag.starts_with('.') ? tag.substr(1) : tag;
  if (check_name(plain)) return {};
  return fail(Errc::invalid, "'" + tag +
                                 "' cannot name a snapshot: use a-z, 0-9, '_', '.', '-', at most 63 of them, "
                                 "beginning with a letter or digit");
}

Result<void> save_snapshot(const Snapshot& snapshot) {
  COVE_CHECK(check_tag(snapshot.tag));
  COVE_TRY(const UniqueFd folder, open_folder("snapshots"));
  const std::string aside = ".new-" + hex(8);
  if (mkdirat(folder.get(), aside.c_str(), 0700) < 0) return fail_errno("make snapshot " + snapshot.tag);
  const auto give_up = [&](Error error) {
    [[maybe_unused]] const auto removed = os::remove_tree_at(folder.get(), aside);
    return fail(std::move(error).because("save snapshot " + snapshot.tag));
  };
  auto directory = open_private_directory(folder.get(), aside, "snapshot " + snapshot.tag);
  if (!directory) return give_up(std::move(directory).error());
  if (auto written = write_file_at(directory->get(), "snapshot.json", to_json(snapshot)); !written)
    return give_up(std::move(written).error());
  if (auto written = write_file_at(directory->get(), "sessions", encode_state(snapshot)); !written)
    return give_up(std::move(written).error());
  if (!snapshot.memory.empty()) {
    if (auto written = write_file_at(directory->get(), "running", snapshot.running); !written)
      return give_up(std::move(written).error());
    if (renameat(AT_FDCWD, snapshot.memory.c_str(), directory->get(), "memory") < 0)
      return give_up(errno_error(errno, "take " + snapshot.memory));
  }
  if (renameat(folder.get(), aside.c_str(), folder.get(), snapshot.tag.c_str()) == 0) return {};
  if (errno != EEXIST && errno != ENOTEMPTY) return give_up(errno_error(errno, "name it"));
  return give_up({Errc::conflict, "there is one of that name; 'cove snapshot rm " + snapshot.tag + "' frees it"});
}

Result<std::string> make_memory_directory() {
  COVE_TRY(const UniqueFd folder, open_folder("snapshots"));
  COVE_TRY(const std::string path, home());
  const std::string name = ".new-memory-" + hex(8);
  if (mkdirat(folder.get(), name.c_str(), 0700) < 0) return fail_errno("make a directory for the memory");
  return path + "/snapshots/" + name;
}

Result<void> check_place(const SandboxSpec& wanted, const Snapshot& snapshot) {
  const std::string_view other = first_difference(wanted, snapshot.place, kFixed);
  if (other.empty()) return {};
  return fail(Errc::invalid, "snapshot " + snapshot.tag + " resumes in the place that it was taken of: leave " +
                                 option_of_field(other) + " out, or give the same");
}

Result<Snapshot> find_snapshot(const std::string& tag) {
  COVE_CHECK(check_tag(tag));
  COVE_TRY(const UniqueFd folder, open_folder("snapshots"));
  auto found = read_snapshot(folder.get(), tag);
  if (found || found.error().code != Errc::not_found) return found;
  std::string there;
  COVE_TRY(const auto tags, os::names_in(folder.get()));
  for (const std::string& other : tags) {
    if (!other.starts_with('.') && there.size() < 200) there += (there.empty() ? "" : ", ") + other;
  }
  return fail(Errc::not_found, "there is no snapshot '" + tag + "'" +
                                   (there.empty() ? ": 'cove snapshot NAME' makes one" : "; there are " + there));
}

Result<std::vector<Snapshot>> list_snapshots() {
  COVE_TRY(const UniqueFd folder, open_folder("snapshots"));
  COVE_TRY(const auto tags, os::names_in(folder.get()));
  std::vector<Snapshot> all;
  for (const std::string& tag : tags) {
    if (tag.starts_with('.')) continue;
    auto snapshot = read_snapshot(folder.get(), tag);
    if (snapshot) all.push_back(std::move(*snapshot));
  }
  std::sort(all.begin(), all.end(), [](const Snapshot& a, const Snapshot& b) {
    return std::pair(a.created_unix, a.tag) < std::pair(b.created_unix, b.tag);
  });
  return all;
}

Result<void> remove_snapshot(const std::string& tag) {
  COVE_CHECK(check_tag(tag));
  COVE_TRY(const UniqueFd folder, open_folder("snapshots"));
  if (faccessat(folder.get(), tag.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
    const auto found = find_snapshot(tag);
    return found ? Result<void>() : fail(found.error());
  }
  // First out of sight, as a whole: half of a snapshot would look damaged.
  const std::string gone = ".new-gone-" + hex(8);
  if (renameat(folder.get(), tag.c_str(), folder.get(), gone.c_str()) < 0) return fail_errno("remove snapshot " + tag);
  return os::remove_tree_at(folder.get(), gone);
}

std::string new_layer_id() { return hex(12); }

Result<std::size_t> clear_layers(const std::vector<std::string>& given_up) {
  COVE_TRY(const UniqueFd folder, open_folder("layers"));
  const UniqueFd turn(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!turn || flock(turn.get(), LOCK_EX) < 0) return fail_errno("lock the layers");
  COVE_TRY(const auto names, os::names_in(folder.get()));
  COVE_TRY(const auto used, layers_in_use());
  std::size_t removed = 0;
  for (const std::string& name : names) {
    // ID.16 is of ID's chain; ID.16.new-PID was being made of it.
    const std::string id = name.substr(0, name.find('.'));
    const bool half_made = name.find(".new-") != std::string::npos;
    if (used.contains(id) && !half_made) continue;
    const bool sure = !half_made && std::find(given_up.begin(), given_up.end(), id) != given_up.end();
    if (!sure && !is_older(folder.get(), name, kGraceSeconds)) continue;
    COVE_CHECK(os::remove_mapped_tree_at(folder.get(), name));
    ++removed;
  }
  return removed;
}

}  // namespace cove::record
