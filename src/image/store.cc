#include "image/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "image/digest.h"
#include "image/files.h"
#include "image/name.h"
#include "image/store_detail.h"
#include "os/remove_tree.h"
#include "os/users.h"

namespace cove::image {
namespace {

// Below an image without layers: an overlay needs something.
Result<void> make_empty_layer(const std::string& path) {
  if (mkdir(path.c_str(), 0755) < 0) return errno == EEXIST ? Result<void>() : Result<void>(fail_errno("make " + path));
  const os::Users users = os::find_users();
  if (users.by_root && chown(path.c_str(), users.uid, users.gid) < 0) return fail_errno("set the owner of " + path);
  if (chmod(path.c_str(), 0755) < 0) return fail_errno("set the mode of " + path);
  return {};
}

Result<Image> read_image(const std::string& path) {
  COVE_TRY(const std::string text, read_small_file(path, kMostImageFile));
  auto image = image_from_json(text);
  if (image) return image;
  return fail(std::move(image).error().because("read " + path + " (remove it if it is damaged)"));
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool begins(const std::string& digest, std::string_view hex) {
  return digest.starts_with(kSha256) && std::string_view(digest).substr(kSha256.size()).starts_with(hex);
}

}  // namespace

Result<Store> Store::open(const std::string& home) {
  Store store(home + "/images");
  COVE_CHECK(make_private_directory(store.path_));
  for (const char* part : {"/layers", "/merged", "/names", "/downloads", "/locks"})
    COVE_CHECK(make_private_directory(store.path_ + part));
  COVE_CHECK(make_empty_layer(store.path_ + "/empty"));
  return store;
}

Result<std::vector<Image>> Store::list() const {
  COVE_TRY(const std::vector<std::string> names, names_below(path_ + "/names"));
  std::vector<Image> all;
  for (const std::string& name : names) {
    if (name.starts_with('.') || !name.ends_with(".json")) continue;
    auto image = read_image(path_ + "/names/" + name);
    if (!image && image.error().code == Errc::not_found) continue;  // removed since
    if (!image) return fail(std::move(image).error());
    all.push_back(std::move(*image));
  }
  std::sort(all.begin(), all.end(), [](const Image& a, const Image& b) { return a.name < b.name; });
  return all;
}

Result<std::optional<Image>> Store::find(const std::string& name) const {
  const auto normal = normal_name(name);
  if (normal) {
    auto image = read_image(path_ + "/names/" + escape_name(*normal) + ".json");
    if (image) return std::optional(std::move(*image));
    if (image.error().code != Errc::not_found) return fail(std::move(image).error());
  }
  std::string_view hex = name;
  if (hex.starts_with(kSha256)) hex.remove_prefix(kSha256.size());
  const bool is_prefix = hex.size() >= 12 && hex.size() <= 64 && is_hex(hex);
  if (!is_prefix && !normal) return fail(normal.error());
  if (!is_prefix) return std::optional<Image>();
  COVE_TRY(std::vector<Image> all, list());
  std::erase_if(all, [&](const Image& one) { return !begins(one.digest, hex) && !begins(one.config_digest, hex); });
  if (all.empty()) return std::optional<Image>();
  const bool same = std::all_of(all.begin(), all.end(), [&](const Image& one) { return one.layers == all[0].layers; });
  if (!same) return fail(Errc::conflict, "several images have a digest that begins with " + std::string(hex));
  return std::optional(std::move(all[0]));
}

Result<void> Store::put(const Image& image) {
  COVE_TRY(const std::string normal, normal_name(image.name));
  if (normal != image.name) return fail(Errc::internal, "the image's name is not in its normal form: " + image.name);
  COVE_TRY(const UniqueFd held, hold());
  for (const std::string& diff_id : image.layers) {
    if (!has_layer(diff_id))
      return fail(Errc::not_found, image.name + " needs layer " + diff_id + ", which is not here");
  }
  const std::string text = to_json(image);
  COVE_CHECK(image_from_json(text));  // what cannot be read back is not written
  return replace_file(path_ + "/names", escape_name(normal) + ".json", text);
}

Result<void> Store::remove(const std::string& name) {
  COVE_TRY(const UniqueFd held, hold());
  return forget(name);
}

Result<void> Store::forget(const std::string& name) {
  COVE_TRY(const std::string normal, normal_name(name));
  const std::string path = path_ + "/names/" + escape_name(normal) + ".json";
  if (unlink(path.c_str()) == 0) return sync_directory(path_ + "/names");
  if (errno == ENOENT) return fail(Errc::not_found, "there is no image '" + name + "': 'cove image ls' lists them");
  return fail_errno("remove " + path);
}

Result<UniqueFd> Store::lock(const std::string& name, int how) const {
  const std::string path = path_ + "/locks/" + name;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno("open " + path);
  while (flock(fd.get(), how) < 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return fail(Errc::busy, "images are being added or used right now: try again later");
    return fail_errno("lock " + path);
  }
  return fd;
}

Result<UniqueFd> Store::hold() const { return lock("store", LOCK_SH); }

Result<UniqueFd> Store::lock_layer(const std::string& diff_id) const {
  COVE_TRY(const std::string hex, hex_of(diff_id));
  return lock(hex, LOCK_EX);
}

Result<UniqueFd> Store::lock_blob(const std::string& digest) const {
  COVE_TRY(const std::string hex, hex_of(digest));
  return lock("blob-" + hex, LOCK_EX);
}

}  // namespace cove::image
