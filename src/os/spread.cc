#include "os/spread.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace cove::os {

Result<void> make_spread_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) < 0) return errno == EEXIST ? Result<void>() : fail_errno("make " + path);
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  int flags = 0;
  if (!directory || ioctl(directory.get(), FS_IOC_GETFLAGS, &flags) < 0) return {};
  flags |= FS_TOPDIR_FL;
  ioctl(directory.get(), FS_IOC_SETFLAGS, &flags);
  return {};
}

}  // namespace cove::os
