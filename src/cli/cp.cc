#include <sys/stat.h>

#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct CpOptions {
  std::string from, to;
};

void define(Arguments& arguments, CpOptions& options) {
  arguments.positional("SRC", options.from, Need::required, "A path, or NAME:path");
  arguments.positional("DST", options.to, Need::required, "A path, or NAME:path; into it if it is a directory");
}

struct Location {
  std::string sandbox, path;  // sandbox "": on this machine
};

// A colon after the first slash belongs to a path, as with scp and docker cp.
Location parse_location(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) return {"", text};
  std::string path = text.substr(colon + 1);
  return {text.substr(0, colon), path.empty() ? "." : path};
}

std::string last_component(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

std::string into(const std::string& directory, const std::string& source) {
  const std::string name = last_component(source);
  // `x/.`, `..` and `/` have no name of their own: their content goes in, as with cp.
  if (name.empty() || name == "." || name == "..") return directory;
  return directory + (directory.ends_with('/') ? "" : "/") + name;
}

bool is_host_directory(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A symlink to a directory inside counts as one: `path/.` looks behind it.
Result<bool> is_inside_directory(Sandbox& sandbox, const std::string& path) {
  const auto info = sandbox.stat_file(path.ends_with('/') ? path + "." : path + "/.");
  if (info) return info->type == proto::FileType::directory;
  if (info.error().code == Errc::disconnected) return fail(info.error());
  return false;
}

Failure not_a_directory(const std::string& path) {
  return fail(Errc::not_found, "there is no directory " + path + ": make it first, or name the copy without the slash");
}

Result<std::vector<std::string>> copy_out(Sandbox& sandbox, const std::string& from, std::string to) {
  if (is_host_directory(to))
    to = into(to, from);
  else if (to.ends_with('/'))
    return not_a_directory(to);
  return sandbox.copy_out(from, to);
}

Result<std::vector<std::string>> copy_in(Sandbox& sandbox, const std::string& from, std::string to) {
  COVE_TRY(const bool directory, is_inside_directory(sandbox, to));
  if (directory)
    to = into(to, from);
  else if (to.ends_with('/'))
    return not_a_directory(to);
  return sandbox.copy_in(from, to);
}

int run(Arguments& arguments, CpOptions& options) {
  const Location from = parse_location(options.from), to = parse_location(options.to);
  if (from.sandbox.empty() == to.sandbox.empty()) return arguments.usage_error("exactly one side must be NAME:path");
  auto sandbox = Sandbox::open(from.sandbox.empty() ? to.sandbox : from.sandbox);
  if (!sandbox) return report(sandbox.error());
  const auto skipped =
      from.sandbox.empty() ? copy_in(*sandbox, from.path, to.path) : copy_out(*sandbox, from.path, to.path);
  if (!skipped) return report(skipped.error());
  for (const std::string& what : *skipped) complain("skipped: " + what);
  return 0;
}

}  // namespace

const Command kCp{
    .name = "cp",
    .usage = "SRC DST",
    .summary = "Copy files and directories into or out of a sandbox",
    .examples =
        "  cove cp src t:/work          # modes and times are kept\n"
        "  cove cp t:/work/out.txt .\n"
        "  cove cp ./with:colon t:~/",
    .run = run_with<CpOptions>,
    .describe = describe_with<CpOptions>,
};

}  // namespace cove::cli
