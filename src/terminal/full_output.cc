#include "terminal/full_output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>

#include "base/unique_fd.h"
#include "record/record.h"
#include "terminal/plain_text.h"

namespace cove::terminal {
namespace {

constexpr const char* kDirectory = "output";

Result<UniqueFd> open_directory(const std::string& home) {
  const UniqueFd above(open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above) return fail_errno("open " + home);
  if (mkdirat(above.get(), kDirectory, 0700) < 0 && errno != EEXIST) return fail_errno("make " + home + "/output");
  UniqueFd directory(openat(above.get(), kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno("open " + home + "/output");
  struct stat about{};
  if (fstat(directory.get(), &about) < 0) return fail_errno("look at " + home + "/output");
  if (about.st_uid != geteuid() || (about.st_mode & 077) != 0)
    return fail(Errc::denied, home + "/output is not private: 'chmod 700' it, or remove it");
  return directory;
}

std::string make_file_name() {
  std::random_device source;
  char name[96];
  std::snprintf(name, sizeof(name), "out-%lld-%d-%08x.log", static_cast<long long>(time(nullptr)), getpid(), source());
  return name;
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno("write the whole output");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Bytes are at least characters, so a short text need not be counted.
std::string_view capped(std::string_view text) {
  if (text.size() <= kMostSavedChars) return text;
  std::size_t count = 0, at = 0;
  for (; at < text.size(); ++at) {
    if ((text[at] & 0xC0) != 0x80 && count++ == kMostSavedChars) break;
  }
  return text.substr(0, at);
}

Result<void> write_parts(int fd, const Parts& parts) {
  const std::string_view text = capped(parts.text);
  COVE_CHECK(write_all(fd, text));
  COVE_CHECK(write_all(fd, "\n"));
  const std::size_t left = count_chars(parts.text.substr(text.size())) + parts.missing + count_chars(parts.tail);
  if (left == 0) return {};
  return write_all(fd, "[" + with_separators(left) + " more chars are not kept]\n");
}

void prune(int directory) {
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(again), closedir);
  if (entries == nullptr) {
    close(again);
    return;
  }
  const std::int64_t before = time(nullptr) - std::chrono::seconds(kKeptFor).count();
  while (const dirent* entry = readdir(entries.get())) {
    struct stat about{};
    const std::string_view name = entry->d_name;
    if (!name.starts_with("out-") || !name.ends_with(".log")) continue;
    if (fstatat(directory, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 || about.st_mtime > before) continue;
    unlinkat(directory, entry->d_name, 0);
  }
}

}  // namespace

Result<std::string> save_full_output(const Parts& parts) {
  COVE_TRY(const std::string home, record::home());
  COVE_TRY(const UniqueFd directory, open_directory(home));
  prune(directory.get());
  const std::string name = make_file_name();
  const UniqueFd file(
      openat(directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("make " + home + "/output/" + name);
  if (auto written = write_parts(file.get(), parts); !written) {
    unlinkat(directory.get(), name.c_str(), 0);
    return fail(std::move(written).error());
  }
  return home + "/" + kDirectory + "/" + name;
}

}  // namespace cove::terminal
