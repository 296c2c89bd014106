#include "selftest/bait.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cove::selftest {
namespace fs = std::filesystem;
namespace {

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0'), hex;
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size())) return "";
  for (const char c : raw) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

Result<std::string> make_directory(const std::string& parent, const std::string& name, mode_t mode) {
  std::error_code error;
  const fs::path real = fs::canonical(parent, error);
  if (error) return fail(Errc::not_found, "there is no directory " + parent);
  std::string path = real / name;
  if (mkdir(path.c_str(), mode) < 0 || chmod(path.c_str(), mode) < 0) return fail_errno("make " + path);
  return path;
}

std::string temporary() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named == '/' ? named : "/tmp";
}

}  // namespace

std::string host_content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Result<Bait> Bait::lay() {
  Bait bait;
  bait.token_ = random_hex(8);
  bait.secret_ = "cove-secret-" + random_hex(16);
  const std::string name = ".cove-selftest-" + bait.token_;
  COVE_TRY(bait.own_, make_directory(temporary(), name, 0700));
  COVE_TRY(bait.work_, make_directory(temporary(), name + "-work", 0755));
  COVE_CHECK(bait.put(bait.own_ + "/secret", 0600));
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    // A home that cannot be written to is a home without bait.
    if (auto made = make_directory(home, name, 0755)) {
      bait.home_ = *made;
      COVE_CHECK(bait.put(bait.home_ + "/secret", 0644));
    }
  }
  bait.in_shm_ = "/dev/shm/" + name;
  if (!bait.put(bait.in_shm_, 0644)) bait.in_shm_.clear();
  bait.in_var_tmp_ = "/var/tmp/" + name;
  if (!bait.put(bait.in_var_tmp_, 0644)) bait.in_var_tmp_.clear();
  return bait;
}

Result<void> Bait::put(const std::string& path, unsigned mode) {
  forget_later(path);
  std::ofstream file(path, std::ios::binary);
  file << secret_ << "\n";
  file.close();
  if (!file || chmod(path.c_str(), mode) < 0) return fail(Errc::denied, "lay bait at " + path);
  return {};
}

Bait::Bait(Bait&& other) noexcept
    : token_(std::move(other.token_)),
      secret_(std::move(other.secret_)),
      own_(std::exchange(other.own_, "")),
      home_(std::exchange(other.home_, "")),
      work_(std::exchange(other.work_, "")),
      in_shm_(std::move(other.in_shm_)),
      in_var_tmp_(std::move(other.in_var_tmp_)),
      later_(std::exchange(other.later_, {})) {}

Bait::~Bait() {
  std::error_code ignored;
  for (const std::string& path : later_) fs::remove(path, ignored);
  for (const std::string& directory : {own_, home_, work_}) {
    if (!directory.empty()) fs::remove_all(directory, ignored);
  }
}

}  // namespace cove::selftest
