#include "mcp/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/unique_fd.h"

namespace cove::mcp {
namespace {

constexpr std::size_t kLeast = 16, kMost = 4096;

Result<std::string> read_private(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!fd || fstat(fd.get(), &info) < 0) return fail_errno("read the token in " + path);
  if (!S_ISREG(info.st_mode)) return fail(Errc::invalid, "the token file " + path + " is not a file");
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return fail(Errc::denied, "the token file " + path + " belongs to somebody else");
  if ((info.st_mode & 077) != 0)
    return fail(Errc::denied, "others may read the token file " + path + ": run 'chmod 600 " + path + "'");
  std::string text(kMost + 1, '\0');
  const ssize_t n = read(fd.get(), text.data(), text.size());
  if (n < 0) return fail_errno("read the token in " + path);
  text.resize(static_cast<std::size_t>(n));
  return text;
}

Result<std::string> check_token(std::string token, const std::string& from) {
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  if (token.size() >= kLeast && token.size() <= kMost && plain) return token;
  return fail(Errc::invalid, "the token of " + from + " is not one of 16 to 4096 letters, digits and signs: make one " +
                                 "with 'openssl rand -hex 32'");
}

}  // namespace

Result<std::string> find_token(const std::string& file) {
  std::string variable;
  if (const char* given = std::getenv("COVE_MCP_TOKEN"); given != nullptr) variable = given;
  unsetenv("COVE_MCP_TOKEN");
  if (!file.empty()) {
    COVE_TRY(std::string text, read_private(file));
    return check_token(std::move(text), file);
  }
  if (variable.empty()) return std::string();
  return check_token(std::move(variable), "COVE_MCP_TOKEN");
}

bool same_secret(std::string_view given, std::string_view wanted) {
  volatile unsigned char differs = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = wanted.empty() ? '\0' : wanted[i % wanted.size()];
    differs = static_cast<unsigned char>(differs | (given[i] ^ other));
  }
  return differs == 0 && !wanted.empty();
}

}  // namespace cove::mcp
