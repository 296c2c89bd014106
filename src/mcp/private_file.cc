#include "mcp/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/unique_fd.h"
#include "cli/print.h"

namespace cove::mcp {

Result<std::optional<std::string>> read_if_there(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  struct stat info;
  if (!fd || fstat(fd.get(), &info) < 0) return fail_errno("read " + path);
  if (!S_ISREG(info.st_mode)) return fail(Errc::invalid, path + " is not a file");
  std::string text, buffer(65536, '\0');
  while (true) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) return text;
    text.append(buffer, 0, static_cast<std::size_t>(n));
    if (text.size() > kMost) return fail(Errc::invalid, path + " is larger than 16 MiB");
  }
}

Result<void> replace_file(const std::string& path, const std::string& text, const std::string& like) {
  std::error_code error;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(target, error)) {
    target = std::filesystem::canonical(target, error);
    if (error) return fail(Errc::invalid, path + " is a link to nothing");
  }
  std::filesystem::create_directories(target.parent_path(), error);
  if (error) return fail(Errc::denied, "make " + target.parent_path().string() + ": " + error.message());
  struct stat info;
  const mode_t mode = stat(like.c_str(), &info) == 0 ? info.st_mode & 07777 : 0600;
  std::string aside = target.string() + ".XXXXXX";
  const UniqueFd fd(mkostemp(aside.data(), O_CLOEXEC));
  if (!fd) return fail_errno("write " + path);
  const bool written = cli::write_all(fd.get(), text) && fchmod(fd.get(), mode) == 0 && fsync(fd.get()) == 0 &&
                       rename(aside.c_str(), target.c_str()) == 0;
  if (written) return {};
  const int number = errno;
  unlink(aside.c_str());
  return fail(errno_error(number, "write " + path));
}

}  // namespace cove::mcp
