#pragma once

// Trees in overlay format for tests, and what the kernel shows of them.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "base/unique_fd.h"

namespace cove::changes {

namespace fs = std::filesystem;

inline void write_text(const std::string& path, const std::string& text, mode_t mode = 0644) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
  ASSERT_EQ(chmod(path.c_str(), mode), 0) << path;
}
inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}
inline void whiteout(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  ASSERT_EQ(mknod(path.c_str(), S_IFCHR, makedev(0, 0)), 0) << path;
}
inline void opaque(const std::string& path) {
  fs::create_directories(path);
  ASSERT_EQ(setxattr(path.c_str(), "user.overlay.opaque", "y", 1, 0), 0) << path;
}

// Path -> kind, mode, owner, contents or target. Names that cannot be looked up are left out, as overlayfs lists
// whiteouts of a lower directory that is not merged.
using Tree = std::map<std::string, std::string>;
inline Tree tree_of(const std::string& root) {
  Tree tree;
  std::vector<std::string> work{""};
  while (!work.empty()) {
    const std::string at = work.back();
    work.pop_back();
    for (const auto& entry : fs::directory_iterator(at.empty() ? root : root + "/" + at)) {
      const std::string path = (at.empty() ? "" : at + "/") + entry.path().filename().string();
      struct stat info{};
      if (lstat((root + "/" + path).c_str(), &info) < 0) continue;
      std::string text = std::to_string(info.st_mode) + " " + std::to_string(info.st_uid);
      if (S_ISREG(info.st_mode)) text += " " + read_text(root + "/" + path);
      if (S_ISLNK(info.st_mode)) text += " " + fs::read_symlink(root + "/" + path).string();
      if (S_ISDIR(info.st_mode)) work.push_back(path);
      tree[path] = text;
    }
  }
  return tree;
}

// With the first difference only, as there may be thousands.
inline void expect_same(const Tree& got, const Tree& want) {
  for (const auto& [path, text] : want) {
    const auto found = got.find(path);
    ASSERT_EQ(found == got.end() ? "nothing" : found->second, text) << path;
  }
  for (const auto& [path, text] : got) ASSERT_TRUE(want.contains(path)) << path << " is " << text;
}

class Trees : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_base("/dev/shm") || make_base("/tmp"));
    for (const char* name : {"lower", "upper", "work", "mnt", "host", "empty"})
      fs::create_directory(base_ + "/" + name);
    lower_ = base_ + "/lower", upper_ = base_ + "/upper", host_ = base_ + "/host";
  }
  // In memory where that knows user attributes (Linux 6.6): thousands of small files are slow on a busy disk.
  bool make_base(const std::string& directory) {
    std::string path = directory + "/cove-changes-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return false;
    base_ = path;
    if (setxattr(path.c_str(), "user.overlay.probe", "y", 1, 0) == 0) return true;
    return rmdir(path.c_str()), false;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }
  std::string fresh(const std::string& name) {
    const std::string path = base_ + "/" + name + std::to_string(number_++);
    fs::create_directory(path);
    return path;
  }

  // Runs `what` in a child, in a user namespace of its own; what it returns comes back, "error: ..." if it throws.
  static std::string in_namespace(const std::function<std::string()>& what) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
    const pid_t child = fork();
    if (child == 0) {
      std::string answer;
      try {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
          throw std::system_error(errno, std::generic_category(), "unshare");
        std::ofstream("/proc/self/setgroups") << "deny";
        std::ofstream("/proc/self/uid_map") << uid + " " + uid + " 1";
        std::ofstream("/proc/self/gid_map") << gid + " " + gid + " 1";
        answer = what();
      } catch (const std::exception& error) {
        answer = std::string("error: ") + error.what();
      }
      for (std::size_t at = 0; at < answer.size();) {
        const ssize_t n = write(ends[1], answer.data() + at, answer.size() - at);
        if (n <= 0) break;
        at += static_cast<std::size_t>(n);
      }
      _exit(0);
    }
    close(ends[1]);
    std::string answer;
    char chunk[65536];
    for (ssize_t n = 0; (n = read(ends[0], chunk, sizeof(chunk))) > 0;)
      answer.append(chunk, static_cast<std::size_t>(n));
    close(ends[0]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    return answer;
  }

  // In such a child.
  void mount_overlay(const std::vector<std::string>& lowers, const std::string& upper, const std::string& at) const {
    std::string data = "userxattr,lowerdir=";
    for (const std::string& lower : lowers) data += (data.ends_with('=') ? "" : ":") + lower;
    if (!upper.empty()) data += ",upperdir=" + upper + ",workdir=" + base_ + "/work";
    if (mount("overlay", at.c_str(), "overlay", 0, data.c_str()) < 0)
      throw std::system_error(errno, std::generic_category(), "mount overlay");
  }

  // What the kernel shows of each chain of layers. All in one child, nothing unmounted: each unmounting takes long.
  std::vector<Tree> kernel_views(const std::vector<std::vector<std::string>>& chains) {
    const std::string answer = in_namespace([&] {
      std::string text = "trees";
      int number = 0;
      for (std::vector<std::string> lowers : chains) {
        lowers.push_back(base_ + "/empty");
        const std::string at = base_ + "/views/" + std::to_string(number++);
        fs::create_directories(at);
        mount_overlay(lowers, "", at);
        for (const auto& [path, value] : tree_of(at)) text += path + '\0' + value + '\0';
        text += '\0';
      }
      return text;
    });
    EXPECT_TRUE(answer.starts_with("trees")) << answer;
    std::vector<Tree> trees;
    for (std::size_t at = 5; answer.starts_with("trees") && at < answer.size(); ++at) {
      Tree& tree = trees.emplace_back();
      while (answer[at] != '\0') {
        const std::string path = answer.c_str() + at;
        const std::string value = answer.c_str() + at + path.size() + 1;
        at += path.size() + value.size() + 2;
        tree[path] = value;
      }
    }
    EXPECT_EQ(trees.size(), chains.size());
    trees.resize(chains.size());
    return trees;
  }

  // Why the kernel's overlay cannot be used here; "" if it can.
  std::string no_overlay() {
    const std::string answer = in_namespace([&] {
      mount_overlay({lower_, base_ + "/empty"}, "", base_ + "/mnt");
      return "fine";
    });
    return answer == "fine" ? "" : answer;
  }

  // Something changed inside: commands of a shell whose directory is the overlay of lower_ and upper_.
  void run_inside(const std::string& script) { run_inside({lower_}, script); }
  void run_inside(const std::vector<std::string>& lowers, const std::string& script) {
    const std::string answer = in_namespace([&] {
      mount_overlay(lowers, upper_, base_ + "/mnt");
      const std::string command = "cd " + base_ + "/mnt && set -e && " + script;
      return std::to_string(std::system(command.c_str()));
    });
    ASSERT_EQ(answer, "0") << script;
  }

  std::string base_, lower_, upper_, host_;

 private:
  int number_ = 0;
};

#define COVE_NEEDS_OVERLAY() \
  if (const std::string why = no_overlay(); !why.empty()) GTEST_SKIP() << why

// A layer at random: few names, so that layers meet; every kind of entry, whiteouts and opaque directories.
class RandomLayers {
 public:
  explicit RandomLayers(unsigned seed) : random_(seed) {}

  void fill(const std::string& directory, bool marks, int depth = 0) {
    for (const char* name : {"a", "b", "c", "d"}) {
      const std::string path = directory + "/" + name;
      switch (pick(marks ? 9 : 6)) {
        case 0:
        case 1: put_file(path); break;
        case 2: fs::create_symlink(pick(2) == 0 ? "a" : "/etc/passwd", path); break;
        case 3:
        case 4: put_directory(path, marks, depth); break;
        case 6: ASSERT_EQ(mknod(path.c_str(), S_IFCHR, makedev(0, 0)), 0); break;
        case 7:
          put_directory(path, marks, depth);
          if (fs::is_directory(path)) opaque(path);
          break;
        default: break;
      }
    }
  }
  // Many cases in one layer: a directory for each, so that one mount shows all of them.
  void fill_cases(const std::string& layer, int count, bool marks) {
    for (int i = 0; i < count; ++i) {
      const std::string path = layer + "/" + std::to_string(i);
      const int what = marks ? pick(10) : 9;
      if (what == 0) continue;
      if (what == 1) {
        ASSERT_EQ(mknod(path.c_str(), S_IFCHR, makedev(0, 0)), 0);
        continue;
      }
      fs::create_directory(path);
      if (what == 2) opaque(path);
      fill(path, marks);
    }
  }
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

 private:
  void put_file(const std::string& path) {
    std::ofstream(path) << "text " << pick(4);
    ASSERT_EQ(chmod(path.c_str(), pick(5) == 0 ? 0755 : 0644), 0);
  }
  void put_directory(const std::string& path, bool marks, int depth) {
    if (depth > 3) return;
    ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
    fill(path, marks, depth + 1);
    ASSERT_EQ(chmod(path.c_str(), pick(4) == 0 ? 0700 : 0755), 0);
  }
  std::mt19937 random_;
};

}  // namespace cove::changes
