#include "cli/stdin_option.h"

#include <fcntl.h>
#include <unistd.h>

namespace cove::cli {

void define_stdin(Arguments& arguments, std::string& from) {
  arguments.text("--stdin", from, "FILE|-", "Read stdin from FILE; default: empty stdin");
}

Result<UniqueFd> open_stdin(const std::string& from) {
  if (from.empty()) return UniqueFd();
  UniqueFd fd(from == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + (from == "-" ? "stdin" : from));
  return fd;
}

}  // namespace cove::cli
