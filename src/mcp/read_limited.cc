#include "mcp/read_limited.h"

#include <algorithm>

#include "base/text.h"

namespace cove::mcp {

// Sandbox::read_file has no limit, so that a file which grows while it is read would take all memory. The sandbox's own
// `head` has one; ours is kept beside it.
Result<std::string> read_limited(Sandbox& sandbox, const std::string& path, std::size_t most, const Call& call) {
  COVE_TRY(const FileInfo info, sandbox.stat_file(path, call));  // its errors are told apart
  if (info.type == proto::FileType::directory) return fail(Errc::invalid, path + " is a directory: see file_list");
  if (info.type == proto::FileType::other) return fail(Errc::invalid, path + " is not a file");
  CommandSpec command;
  command.argv = {"head", "-c", std::to_string(most), "--", path};
  command.timeout = std::chrono::seconds(60);
  command.split = true;
  command.end_with_client = true;
  std::string bytes, complaints;
  CommandIo io;
  io.output = [&](Stream stream, std::string_view more) {
    std::string& to = stream == Stream::out ? bytes : complaints;
    const std::size_t room = stream == Stream::out ? most : 1000;
    to += more.substr(0, room - std::min(to.size(), room));
  };
  COVE_TRY(const Outcome outcome, sandbox.run(command, io, call));
  if (outcome.ending == Ending::exited && outcome.exit_code == 0) return bytes;
  return fail(Errc::invalid, "read " + path + ": " + to_utf8(complaints.empty() ? outcome.detail : complaints));
}

}  // namespace cove::mcp
