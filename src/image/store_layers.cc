#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/digest.h"
#include "image/files.h"
#include "image/json_fields.h"
#include "image/store_detail.h"
#include "os/remove_tree.h"

namespace cove::image {
namespace {

// Only digits become a path: whoever hands in something else gets a place that is never there.
std::string directory_of(const std::string& images, const std::string& diff_id) {
  const auto hex = hex_of(diff_id);
  return images + "/layers/" + (hex ? *hex : std::string(".none"));
}

Result<void> sync_everything(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  if (syncfs(fd.get()) < 0) return fail_errno("write the layer to disk");
  return {};
}

}  // namespace

std::string to_json(const Layer& layer) {
  return json_text(Json{{"diff_id", layer.diff_id},
                        {"size", layer.size},
                        {"entries", layer.entries},
                        {"media_type", layer.media_type}}) +
         "\n";
}

Result<Layer> layer_from_json(std::string_view text) {
  COVE_TRY(const Json json, parse_object(text, "layer.json"));
  const Fields fields(json, "layer.json");
  Layer layer;
  COVE_TRY(layer.diff_id, fields.text("diff_id"));
  if (!is_digest(layer.diff_id)) return fields.wrong("diff_id", "is no digest");
  COVE_TRY(layer.size, fields.number("size"));
  COVE_TRY(layer.entries, fields.number("entries"));
  COVE_TRY(layer.media_type, fields.text("media_type"));
  return layer;
}

Result<std::vector<std::string>> names_below(const std::string& directory) {
  const UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + directory);
  return os::names_in(fd.get());
}

std::string Store::layer_path(const std::string& diff_id) const { return directory_of(path_, diff_id) + "/tree"; }

std::string Store::part_path(const std::string& digest) const {
  const auto hex = hex_of(digest);
  return path_ + "/downloads/" + (hex ? *hex : std::string(".none")) + ".part";
}

bool Store::has_layer(const std::string& diff_id) const {
  struct stat info{};
  return lstat(layer_path(diff_id).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<Layer> Store::layer(const std::string& diff_id) const {
  COVE_TRY(const std::string text, read_small_file(directory_of(path_, diff_id) + "/layer.json", kMostImageFile));
  return layer_from_json(text);
}

Result<std::string> Store::make_aside() const {
  std::string aside = path_ + "/layers/.new-XXXXXX";
  if (mkdtemp(aside.data()) == nullptr) return fail_errno("make a directory in " + path_ + "/layers");
  if (mkdir((aside + "/tree").c_str(), 0700) < 0) return fail_errno("make " + aside + "/tree");
  return aside;
}

// The list of the layer's content first, then all of it to disk, then its name: a name never stands for half of one.
Result<void> Store::publish(const std::string& aside, const Layer& layer) {
  COVE_CHECK(hex_of(layer.diff_id));
  COVE_CHECK(replace_file(aside, "layer.json", to_json(layer)));
  COVE_CHECK(sync_everything(aside));
  const std::string directory = directory_of(path_, layer.diff_id);
  if (rename(aside.c_str(), directory.c_str()) == 0) return sync_directory(path_ + "/layers");
  if (errno != EEXIST && errno != ENOTEMPTY) return fail_errno("rename the layer to " + directory);
  return os::remove_tree(aside);  // somebody else was first
}

}  // namespace cove::image
