#include "guest/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/unique_fd.h"
#include "guest/file_ops.h"
#include "guest/pack.h"
#include "guest/tar.h"
#include "guest/tree_walk.h"
#include "guest/unpack.h"
#include "proto/codec.h"

namespace cove::guest {
namespace {

using proto::FileInfo;
using proto::FileOp;
using proto::FileRequest;
using proto::FileType;

struct Io {
  int in, out;
};

Result<UniqueFd> open_directory(const std::string& path, const std::string& what) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(what);
  return fd;
}

// What has no positions (a fifo, a terminal) is read and dropped up to the offset.
Result<void> go_to_offset(int fd, std::uint64_t offset, const std::string& what) {
  if (offset > static_cast<std::uint64_t>(INT64_MAX)) return fail(Errc::invalid, what + ": the offset is too large");
  if (offset == 0 || lseek(fd, static_cast<off_t>(offset), SEEK_SET) >= 0) return {};
  if (errno != ESPIPE) return fail_errno(what);
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  return copy_bytes({.from = fd, .to = null.get(), .from_what = what, .to_what = what, .limit = offset});
}

Result<void> read_file(const FileRequest& request, const Io& io) {
  const std::string what = "read " + request.path;
  const UniqueFd fd(open(request.path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!fd) return fail_errno(what);
  COVE_CHECK(go_to_offset(fd.get(), request.offset, what));
  // Not by the size: files of /proc say 0.
  const std::uint64_t limit = request.limit == 0 ? kNoLimit : request.limit;
  return copy_bytes({.from = fd.get(), .to = io.out, .from_what = what, .to_what = "write output", .limit = limit});
}

FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::file;
  if (S_ISDIR(mode)) return FileType::directory;
  if (S_ISLNK(mode)) return FileType::symlink;
  return FileType::other;
}

Result<FileInfo> info_of(int directory, const std::string& name, const std::string& what) {
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno(what);
  FileInfo result{.name = name,
                  .type = type_of(info.st_mode),
                  .mode = info.st_mode & 07777,
                  .uid = info.st_uid,
                  .gid = info.st_gid,
                  .size = static_cast<std::uint64_t>(info.st_size),
                  .mtime_ns = info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec,
                  .link_target = {}};
  if (result.type != FileType::symlink) return result;
  std::string target(4096, '\0');
  const ssize_t size = readlinkat(directory, name.c_str(), target.data(), target.size());
  if (size < 0) return fail_errno(what);
  result.link_target = target.substr(0, static_cast<std::size_t>(size));
  return result;
}

Result<void> stat_file(const FileRequest& request, const Io& io) {
  COVE_TRY(const FileInfo info, info_of(AT_FDCWD, request.path, "stat " + request.path));
  return write_all(io.out, proto::encode(info), "write output");
}

Result<void> list_directory(const FileRequest& request, const Io& io) {
  const std::string what = "list " + request.path;
  COVE_TRY(const UniqueFd directory, open_directory(request.path, what));
  COVE_TRY(const std::vector<std::string> names, names_in(directory.get(), what));
  proto::FileList list;
  for (const std::string& name : names) {
    auto info = info_of(directory.get(), name, what + "/" + name);
    if (info)
      list.entries.push_back(std::move(*info));
    else if (info.error().code != Errc::not_found)
      return fail(std::move(info).error());
  }
  return write_all(io.out, proto::encode(list), "write output");
}

Result<void> tar_in(const FileRequest& request, const Io& io) {
  const std::string what = "unpack into " + request.path;
  COVE_CHECK(make_directories(request.path));
  COVE_TRY(const UniqueFd directory, open_directory(request.path, what));
  FdSource source(io.in, "read stdin");
  Unpacker unpacker(directory.get(), {});
  auto done = read_tar(source, unpacker);
  if (done) done = unpacker.finish();
  if (!done) return fail(std::move(done).error().because(what));
  return {};
}

Result<void> tar_out(const FileRequest& request, const Io& io) {
  std::string name = split_path(request.path).name;
  if (name.empty() || name == "..") name = ".";
  TarWriter writer(io.out);
  COVE_CHECK(pack_tree({.path = request.path, .name = name}, writer));
  return writer.finish();
}

Result<void> run(const FileRequest& request, const Io& io) {
  switch (request.op) {
    case FileOp::read: return read_file(request, io);
    case FileOp::write: return write_file(request, io.in);
    case FileOp::list: return list_directory(request, io);
    case FileOp::stat: return stat_file(request, io);
    case FileOp::mkdir: return make_directories(request.path);
    case FileOp::move: return move_tree(request.path, request.target);
    case FileOp::remove: return remove_tree(request.path);
    case FileOp::tar_in: return tar_in(request, io);
    case FileOp::tar_out: return tar_out(request, io);
  }
  return fail(Errc::protocol, "an unknown file operation");
}

// A zero byte would silently name another file.
Result<void> check_path(const std::string& path) {
  if (path.empty()) return fail(Errc::invalid, "a file operation needs a path");
  if (path.find('\0') != std::string::npos) return fail(Errc::invalid, "a path has a zero byte");
  return {};
}

}  // namespace

FileOutcome run_file_request(const FileRequest& request, int in_fd, int out_fd) {
  std::signal(SIGPIPE, SIG_IGN);
  Result<void> done = check_path(request.path);
  if (done && request.op == FileOp::move) done = check_path(request.target);
  if (done) done = run(request, {.in = in_fd, .out = out_fd});
  if (done) return {};
  return {.error = done.error().code, .error_text = std::move(done.error().message)};
}

}  // namespace cove::guest
