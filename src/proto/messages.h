#pragma once

// What both schemas share: how a command is started, moved and ended. `guest.h` and `client.h` say who sends what when.

#include <cstdint>
#include <string>
#include <vector>

#include "proto/codec.h"

namespace cove::proto {

inline constexpr std::uint32_t kVersion = 6;

// Which of the command's descriptors a byte was written to. A command has one pipe for both (`out`: the order is the
// true one) or, with Start::split, two (the origin is known; the order between them is that of arrival). No kernel
// interface gives both: packet-mode writes on one pipe still merge with ordinary ones before them.
enum class Stream : std::uint8_t { out, err };
constexpr Stream last(Stream) { return Stream::err; }

enum class CommandKind : std::uint8_t {
  script,   // `script`, run by the session's shell
  argv,     // a program, no session
  file,     // a FileRequest; data in by stdin, data out by output
  connect,  // a socket inside: argv = {"tcp", ADDRESS, PORT} or {"unix", PATH}; stdin and output are its two directions
};
constexpr CommandKind last(CommandKind) { return CommandKind::connect; }

enum class FileOp : std::uint8_t {
  read,     // output: the bytes of `path` from `offset`, at most `limit` if that is not 0
  write,    // stdin: the new content; `mode` if the file is new; replaced at once when stdin ends, or not at all
  list,     // output: encode(FileList) of the entries of a directory
  stat,     // output: encode(FileInfo); a symlink is not followed
  mkdir,    // with parents, as mkdir -p
  move,     // path to target
  remove,   // recursively, as rm -r; never through a symlink
  tar_in,   // stdin: a tar stream, unpacked below `path`, which is made if missing
  tar_out,  // output: a tar stream of `path`, its entries named from its last component on
};
constexpr FileOp last(FileOp) { return FileOp::tar_out; }

struct FileRequest {
  FileOp op = FileOp::stat;
  std::string path, target;  // relative paths start at the command's cwd
  std::uint64_t offset = 0, limit = 0;
  std::uint32_t mode = 0644;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.op, s.path, s.target, s.offset, s.limit, s.mode);
  }
};

enum class FileType : std::uint8_t { file, directory, symlink, other };
constexpr FileType last(FileType) { return FileType::other; }

struct FileInfo {
  std::string name;  // as asked for, or the entry's name in a list
  FileType type = FileType::other;
  std::uint32_t mode = 0, uid = 0, gid = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::string link_target;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.name, s.type, s.mode, s.uid, s.gid, s.size, s.mtime_ns, s.link_target);
  }
};

struct FileList {
  std::vector<FileInfo> entries;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.entries);
  }
};

struct Start {
  CommandKind kind = CommandKind::script;
  std::string session;  // script: its session; "" is the default one
  std::string script;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // K=V on top of the sandbox's environment, for this command only
  std::string cwd;   // for this command only; "" is the session's or the sandbox's own; ~ is the home inside
  std::string user;  // argv: run as this user of the sandbox; "" is the sandbox's own
  FileRequest file;
  bool with_stdin = false;  // stdin frames follow; otherwise /dev/null
  bool split = false;       // stdout and stderr on two pipes instead of one
  bool pty = false;         // a terminal of its own instead of pipes
  bool apart = false;       // script: begins as its session is, and leaves it as it was
  std::uint16_t rows = 24, columns = 80;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.kind, s.session, s.script, s.argv, s.env, s.cwd, s.user, s.file, s.with_stdin, s.split, s.pty, s.apart, s.rows,
       s.columns);
  }
};

// Ends or signals a command. signal == 0: the whole tree, TERM first, KILL after the grace.
struct Signal {
  std::int32_t signal = 0;
  std::uint32_t grace_ms = 2000;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.signal, s.grace_ms);
  }
};

struct Resize {
  std::uint16_t rows = 0, columns = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.rows, s.columns);
  }
};

// The receiver may send this many bytes more on the stream that the frame's id and type name.
struct Credit {
  std::uint32_t bytes = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.bytes);
  }
};

}  // namespace cove::proto
