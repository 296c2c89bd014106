#include <cstring>

#include "client/file_call.h"
#include "client/pool.h"

namespace cove {
namespace {

using proto::FileOp;
using proto::FileRequest;

void leave_home(std::string& path, std::string& cwd) {
  if (path != "~" && !path.starts_with("~/")) return;
  cwd = "~";
  path = path.size() <= 2 ? "." : path.substr(2);
}

StdinSource from_memory(std::string_view bytes) {
  return {.fd = -1, .pull = [left = bytes](std::span<char> space) mutable -> Result<std::size_t> {
            const std::size_t n = std::min(space.size(), left.size());
            if (n > 0) std::memcpy(space.data(), left.data(), n);
            left.remove_prefix(n);
            return n;
          }};
}

FileRequest request_of(FileOp op, const std::string& path) {
  FileRequest request;
  request.op = op;
  request.path = path;
  return request;
}

}  // namespace

proto::Run file_message(FileRequest request, const StdinSource& source) {
  proto::Run run;
  run.start.kind = proto::CommandKind::file;
  run.start.with_stdin = source.given();
  leave_home(request.path, run.start.cwd);
  if (!request.target.empty()) leave_home(request.target, run.start.cwd);
  run.start.file = std::move(request);
  run.end_with_client = true;
  return run;
}

Result<void> check_file(const Outcome& outcome) {
  if (!outcome.error_text.empty()) return fail(outcome.error, outcome.error_text);
  if (outcome.ending == Ending::exited && outcome.exit_code == 0) return {};
  if (outcome.ending == Ending::interrupted) return fail(Errc::cancelled, "the file operation was interrupted");
  const std::string why = outcome.detail.empty() ? "" : ": " + outcome.detail;
  return fail(Errc::disconnected, "the file operation did not finish" + why);
}

Result<void> Sandbox::file(const FileRequest& request, std::string_view in, std::string* out, const Call& call) {
  StdinSource source = request.op == FileOp::write ? from_memory(in) : StdinSource{};
  COVE_TRY(auto connection, this->request(proto::ClientType::run, proto::encode(file_message(request, source))));
  Conversation conversation(*connection, std::move(source), nullptr, call);
  CommandIo io;
  if (out != nullptr) io.output = [out](Stream, std::string_view bytes) { *out += bytes; };
  COVE_TRY(const Outcome outcome, converse(conversation, io));
  give_back(std::move(connection));
  return check_file(outcome);
}

Result<std::string> Sandbox::read_file(const std::string& path, const Call& call) {
  std::string bytes;
  COVE_CHECK(file(request_of(FileOp::read, path), {}, &bytes, call));
  return bytes;
}

Result<void> Sandbox::write_file(const std::string& path, std::string_view bytes, std::uint32_t mode,
                                 const Call& call) {
  FileRequest request = request_of(FileOp::write, path);
  request.mode = mode;
  return file(request, bytes, nullptr, call);
}

Result<std::vector<FileInfo>> Sandbox::list_files(const std::string& path, const Call& call) {
  std::string bytes;
  COVE_CHECK(file(request_of(FileOp::list, path), {}, &bytes, call));
  COVE_TRY(auto list, proto::decode<proto::FileList>(bytes));
  return std::move(list.entries);
}

Result<FileInfo> Sandbox::stat_file(const std::string& path, const Call& call) {
  std::string bytes;
  COVE_CHECK(file(request_of(FileOp::stat, path), {}, &bytes, call));
  return proto::decode<FileInfo>(bytes);
}

Result<void> Sandbox::make_directory(const std::string& path, const Call& call) {
  return file(request_of(FileOp::mkdir, path), {}, nullptr, call);
}

Result<void> Sandbox::move_file(const std::string& from, const std::string& to, const Call& call) {
  FileRequest request = request_of(FileOp::move, from);
  request.target = to;
  return file(request, {}, nullptr, call);
}

Result<void> Sandbox::remove_file(const std::string& path, const Call& call) {
  return file(request_of(FileOp::remove, path), {}, nullptr, call);
}

}  // namespace cove
