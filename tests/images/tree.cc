#include "tree.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "image/digest.h"

namespace cove::image_tests {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return image::sha256_of(text.str());
}

std::string user_xattrs(const std::string& path) {
  std::array<char, 4096> names{};
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  std::map<std::string, std::string> found;
  for (const char* name = names.data(); name < names.data() + size; name += std::string_view(name).size() + 1) {
    std::array<char, 256> value{};
    if (!std::string_view(name).starts_with("user.") || std::string_view(name).starts_with("user.overlay.")) continue;
    const ssize_t length = lgetxattr(path.c_str(), name, value.data(), value.size());
    found[name] = std::string(value.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
  std::string text;
  for (const auto& [name, value] : found) text += " " + name + "=" + value;
  return text;
}

class Walk {
 public:
  Walk(std::string root, uid_t shift) : root_(std::move(root)), shift_(shift) {}

  Tree read() {
    std::vector<std::string> paths{""};
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      paths.push_back(entry.path().string().substr(root_.size()));
    }
    std::sort(paths.begin(), paths.end());  // so that the first name of a linked file is the same one on both sides
    Tree tree;
    for (const std::string& path : paths) tree[path] = describe(path);
    return tree;
  }

 private:
  std::string describe(const std::string& path) {
    struct stat about{};
    if (lstat((root_ + path).c_str(), &about) != 0) return "gone";
    std::ostringstream text;
    text << std::oct << about.st_mode << std::dec << " " << about.st_uid - shift_ << ":" << about.st_gid - shift_
         << user_xattrs(root_ + path);
    if (S_ISLNK(about.st_mode)) text << " -> " << fs::read_symlink(root_ + path).string();
    if (S_ISREG(about.st_mode)) {
      const std::string key = std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
      text << " " << contents(root_ + path) << " " << about.st_mtime << " is "
           << (about.st_nlink > 1 ? first_names_.emplace(key, path).first->second : path);
    }
    return text.str();
  }

  std::string root_;
  uid_t shift_;
  std::map<std::string, std::string> first_names_;
};

// In a child: a private mount ends with it.
int mount_and_read(const std::vector<std::string>& lowers, uid_t shift, const std::string& scratch) {
  const std::string at = scratch + "/mounted", out = scratch + "/tree.json";
  fs::create_directories(at);
  std::string options = "ro,userxattr,lowerdir=";
  for (const std::string& lower : lowers) options += (options.back() == '=' ? "" : ":") + lower;
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 1;
  if (lowers.size() == 1) {
    if (mount(lowers[0].c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0) return 2;
  } else if (mount("overlay", at.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0) {
    return 3;
  }
  std::ofstream(out) << nlohmann::json(Walk(at, shift).read()).dump(-1, ' ', true);
  return 0;
}

}  // namespace

Tree read_tree(const std::string& root, uid_t shift) { return Walk(root, shift).read(); }

Tree read_overlay(const std::vector<std::string>& lowers, uid_t shift, const std::string& scratch) {
  const pid_t child = fork();
  if (child == 0) _exit(mount_and_read(lowers, shift, scratch));
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) return {{"", "cannot be mounted: step " + std::to_string(WEXITSTATUS(status))}};
  std::ifstream text(scratch + "/tree.json");
  return nlohmann::json::parse(text).get<Tree>();
}

std::string difference(const Tree& ours, const Tree& theirs) {
  std::string text;
  for (const auto& [path, what] : ours) {
    const auto other = theirs.find(path);
    if (other == theirs.end()) text += path + ": only ours: " + what + "\n";
    if (other != theirs.end() && other->second != what) text += path + ": " + what + " | " + other->second + "\n";
  }
  for (const auto& [path, what] : theirs) {
    if (!ours.contains(path)) text += path + ": only theirs: " + what + "\n";
  }
  return text;
}

}  // namespace cove::image_tests
