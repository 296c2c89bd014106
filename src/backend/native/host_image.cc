#include "backend/native/host_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace cove::native {
namespace {

namespace fs = std::filesystem;

constexpr int kLayout = 1;  // counts changes of what is made here
constexpr std::size_t kMostSkeleton = 4000;

// Configuration that programs need to work; nothing that names people, machines, or secrets.
constexpr std::array<const char*, 52> kEtc{"alternatives",
                                           "bash.bashrc",
                                           "bash_completion.d",
                                           "ca-certificates",
                                           "ca-certificates.conf",
                                           "crypto-policies",
                                           "debian_version",
                                           "default/locale",
                                           "dpkg/origins",
                                           "emacs",
                                           "ethertypes",
                                           "fonts",
                                           "gai.conf",
                                           "host.conf",
                                           "inputrc",
                                           "java-11-openjdk",
                                           "java-17-openjdk",
                                           "java-21-openjdk",
                                           "ld.so.cache",
                                           "ld.so.conf",
                                           "ld.so.conf.d",
                                           "localtime",
                                           "locale.alias",
                                           "locale.conf",
                                           "login.defs",
                                           "lsb-release",
                                           "magic",
                                           "magic.mime",
                                           "maven",
                                           "mime.types",
                                           "nanorc",
                                           "os-release",
                                           "perl",
                                           "php",
                                           "pki/ca-trust",
                                           "pki/tls/certs",
                                           "profile",
                                           "profile.d",
                                           "protocols",
                                           "python3",
                                           "python3.11",
                                           "python3.12",
                                           "python3.13",
                                           "rpc",
                                           "services",
                                           "shells",
                                           "skel",
                                           "ssl/certs",
                                           "ssl/openssl.cnf",
                                           "terminfo",
                                           "timezone",
                                           "vim"};

constexpr std::array<const char*, 14> kDirectories{"dev",  "etc", "home", "media", "mnt", "opt", "proc",
                                                   "root", "run", "srv",  "tmp",   "usr", "var", "workspace"};
constexpr std::array<const char*, 5> kBelowVar{"var/cache", "var/lib", "var/log", "var/tmp", "var/spool"};
// Of a merged /usr these are symlinks; where they are directories they get an overlay of their own.
constexpr std::array<const char*, 7> kSystem{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec"};

// Changes when a listed file or directory does. Contents deep inside a directory may change unseen; a package that
// changes them also changes ld.so.cache, alternatives or the certificates' directory as a rule.
std::string fingerprint() {
  std::uint64_t hash = 1469598103934665603ULL;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
  mix(kLayout);
  const auto add = [&](int directory, const char* name) {
    struct stat info{};
    if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return mix(0);
    mix(static_cast<std::uint64_t>(info.st_mtim.tv_sec));
    mix(static_cast<std::uint64_t>(info.st_mtim.tv_nsec));
    mix(info.st_ino);
  };
  const UniqueFd etc(open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const char* name : kEtc) add(etc.get(), name);
  for (const char* path : {"/etc/passwd", "/etc/group", "/usr/local", "/usr/local/bin", "/usr/local/lib"})
    add(AT_FDCWD, path);
  std::array<char, 20> text{};  // by hand: a stream's start costs more than all the rest here
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(hash));
  return text.data();
}

bool others_may_read(const struct stat& info) {
  return (info.st_mode & (S_ISDIR(info.st_mode) ? S_IXOTH : S_IROTH)) != 0;
}

void copy_file(const fs::path& from, const fs::path& to, const struct stat& info) {
  std::error_code ignored;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, ignored);
  chmod(to.c_str(), info.st_mode & 0755);
}

// What cannot be read is left out: the image is a view, not a backup.
void copy_harmless(const fs::path& from, const fs::path& to, int depth = 0) {
  struct stat info{};
  if (depth > 8 || lstat(from.c_str(), &info) < 0) return;
  std::error_code ignored;
  if (S_ISLNK(info.st_mode)) {
    fs::create_symlink(fs::read_symlink(from, ignored), to, ignored);
  } else if (S_ISREG(info.st_mode) && others_may_read(info)) {
    copy_file(from, to, info);
  } else if (S_ISDIR(info.st_mode) && others_may_read(info)) {
    fs::create_directories(to, ignored);
    for (const auto& entry : fs::directory_iterator(from, ignored)) {
      copy_harmless(entry.path(), to / entry.path().filename(), depth + 1);
    }
  }
}

void write_text(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

// System accounts only: people are not the sandbox's business.
std::string system_accounts(const char* path) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const unsigned long id = std::strtoul(line.c_str() + second + 1, nullptr, 10);
    if (id == 0 || id >= 1000) continue;
    kept += line + "\n";
  }
  return kept;
}

void write_etc(const fs::path& etc) {
  std::error_code ignored;
  for (const char* name : kEtc) {
    fs::create_directories((etc / name).parent_path(), ignored);
    copy_harmless(fs::path("/etc") / name, etc / name);
  }
  write_text(etc / "passwd", "root:x:0:0:root:/root:/bin/bash\n" + system_accounts("/etc/passwd") +
                                 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
  write_text(etc / "group", "root:x:0:\n" + system_accounts("/etc/group") + "nogroup:x:65534:\n");
  write_text(etc / "hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
  write_text(etc / "nsswitch.conf",
             "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n");
  write_text(etc / "resolv.conf", "");
}

// Directories that the sandbox owns, so that it can add to what the host has there.
void make_skeleton(const fs::path& image) {
  std::error_code ignored;
  for (const char* path : {"usr/bin", "usr/include", "usr/lib", "usr/sbin", "usr/share", "usr/local"}) {
    if (fs::is_directory(fs::path("/") / path, ignored)) fs::create_directories(image / path, ignored);
  }
  std::size_t made = 0;
  fs::recursive_directory_iterator walk("/usr/local", fs::directory_options::skip_permission_denied, ignored);
  for (const auto& end = fs::end(walk); !ignored && walk != end && made < kMostSkeleton; walk.increment(ignored)) {
    if (!walk->is_directory(ignored) || walk->is_symlink(ignored)) continue;
    fs::create_directories(image / walk->path().relative_path(), ignored);
    if (walk.depth() >= 2) walk.disable_recursion_pending();
    ++made;
  }
}

void link_system(const fs::path& image) {
  std::error_code ignored;
  for (const char* name : kSystem) {
    const fs::path host = fs::path("/") / name;
    if (fs::is_symlink(host, ignored))
      fs::create_symlink(fs::read_symlink(host, ignored), image / name, ignored);
    else if (fs::is_directory(host, ignored))
      fs::create_directory(image / name, ignored);
  }
}

Result<void> build(const fs::path& image, uid_t owner, gid_t group) {
  std::error_code error;
  for (const char* name : kDirectories) fs::create_directories(image / name, error);
  for (const char* name : kBelowVar) fs::create_directories(image / name, error);
  link_system(image);
  write_etc(image / "etc");
  make_skeleton(image);
  if (error) return fail(Errc::internal, "make the host image in " + image.string() + ": " + error.message());
  for (const char* shared : {"tmp", "var/tmp"}) chmod((image / shared).c_str(), 01777);
  chmod((image / "root").c_str(), 0700);
  for (const auto& entry : fs::recursive_directory_iterator(image, error)) {
    if (lchown(entry.path().c_str(), owner, group) < 0) return fail_errno("give away " + entry.path().string());
  }
  if (chmod(image.c_str(), 0755) < 0 || lchown(image.c_str(), owner, group) < 0)
    return fail_errno("give away the image");
  return {};
}

Result<std::string> ensure_built(const std::string& images, uid_t owner, gid_t group) {
  std::string path = images + "/host-" + fingerprint();
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && info.st_uid == owner) return path;
  // Made aside and renamed: two that start at once both make one, and one of them wins.
  std::error_code error;
  if (mkdir(images.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + images);
  const std::string aside = images + "/.new-" + std::to_string(getpid());
  fs::remove_all(aside, error);
  if (mkdir(aside.c_str(), 0700) < 0) return fail_errno("make " + aside);
  COVE_CHECK(build(aside, owner, group));
  if (rename(aside.c_str(), path.c_str()) < 0) {
    const int number = errno;
    fs::remove_all(aside, error);
    if (number != EEXIST && number != ENOTEMPTY) return fail(errno_error(number, "name the host image"));
  }
  return path;
}

}  // namespace

Result<std::vector<Layer>> host_layers(const std::string& images, uid_t owner, gid_t group) {
  COVE_TRY(const std::string image, ensure_built(images, owner, group));
  std::vector<Layer> layers{
      {.name = "root", .target = ".", .lowers = {image}, .sealed = 0, .volume = -1, .upper = "", .work = ""}};
  const auto add = [&](const std::string& name) {
    layers.push_back({.name = name,
                      .target = name,
                      .lowers = {image + "/" + name, "/" + name},
                      .volume = -1,
                      .upper = "",
                      .work = ""});
  };
  add("usr");
  struct stat info{};
  if (lstat("/opt", &info) == 0 && S_ISDIR(info.st_mode)) add("opt");
  for (const char* name : kSystem) {
    if (lstat((std::string("/") + name).c_str(), &info) == 0 && S_ISDIR(info.st_mode) && layers.size() < kMostLayers)
      add(name);
  }
  return layers;
}

}  // namespace cove::native
