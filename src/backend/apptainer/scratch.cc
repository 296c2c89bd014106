#include "backend/apptainer/scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "backend/apptainer/explain.h"
#include "backend/apptainer/lines.h"
#include "backend/engine/names.h"
#include "os/accounts.h"

namespace cove::apptainer {
namespace {

using namespace std::chrono_literals;

constexpr auto kBuildTime = 10min;

std::string users_scratch() {
  const auto user = os::find_account(geteuid());
  return user ? "/scratch/" + user->name : "";
}

std::string chosen_path(const std::string& home) {
  if (const char* wanted = std::getenv("COVE_SCRATCH_DIR"); wanted != nullptr && *wanted != '\0') return wanted;
  const std::string own = users_scratch();
  return !own.empty() && access(own.c_str(), W_OK | X_OK) == 0 ? own + "/cove" : home + "/apptainer";
}

// flock has no deadline of its own.
Result<UniqueFd> lock(const std::string& path, Deadline deadline) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("open " + path);
  while (flock(file.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno("lock " + path);
    if (deadline.passed()) return fail(Errc::busy, "another sandbox is still building this image: try later");
    poll(nullptr, 0, 50);
  }
  return file;
}

}  // namespace

Result<void> make_own_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  struct stat info{};
  if (lstat(path.c_str(), &info) < 0) return fail_errno("look at " + path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid())
    return fail(Errc::denied, path + " is not a directory of this user's: set COVE_SCRATCH_DIR to one that is");
  return {};
}

std::optional<Scratch> Scratch::find(const std::string& home) {
  const std::string path = chosen_path(home);
  if (access((path + "/sandboxes").c_str(), R_OK | X_OK) < 0) return std::nullopt;
  return Scratch(path);
}

Result<Scratch> Scratch::choose(const std::string& home) {
  std::string path = chosen_path(home);
  if (!path.starts_with('/'))
    return fail(Errc::invalid, "COVE_SCRATCH_DIR must be an absolute path, not '" + path + "'");
  // Apptainer's own lists of mounts are split there.
  if (path.find_first_of(",:\\") != std::string::npos)
    return fail(Errc::invalid, path +
                                   ": a scratch directory's path can hold no comma, colon or backslash; set "
                                   "COVE_SCRATCH_DIR");
  for (const char* part : {"", "/images", "/sandboxes"}) COVE_CHECK(make_own_directory(path + part));
  return Scratch(std::move(path));
}

Result<std::string> Scratch::image(const engine::Program& program, const std::string& address,
                                   const std::string& pull) const {
  const std::string base = path_ + "/images/" + hash_text(address);
  std::string made = base + ".sif";
  if (pull != "always" && access(made.c_str(), R_OK) == 0) return made;
  if (pull == "never")
    return fail(Errc::not_found, "no image has been built of " + address + " here yet: --pull missing builds it");
  COVE_TRY(const UniqueFd held, lock(base + ".lock", Deadline::after(kBuildTime)));
  if (pull != "always" && access(made.c_str(), R_OK) == 0) return made;  // by whoever held the lock
  const std::string aside = base + "." + std::to_string(getpid()) + ".new";
  auto said = program.run(build_line(address, aside), Deadline::after(kBuildTime));
  if (said && said->code == 0 && rename(aside.c_str(), made.c_str()) == 0) return made;
  const int error_number = errno;
  unlink(aside.c_str());
  if (!said) return fail(std::move(said).error());
  if (said->code != 0) return fail(explain("build an image of " + address, *said));
  return fail(errno_error(error_number, "keep the image of " + address));
}

}  // namespace cove::apptainer
