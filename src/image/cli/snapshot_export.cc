#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "backend/traits.h"
#include "base/text.h"
#include "image/cli/commands.h"
#include "image/cli/engine_snapshot.h"
#include "image/cli/stop_on_signal.h"
#include "image/files.h"
#include "image/snapshot.h"
#include "record/record.h"

namespace cove::image {
namespace {

struct SnapshotExportOptions {
  std::string tag, file;
  bool quiet = false;
};

void define(Arguments& arguments, SnapshotExportOptions& options) {
  arguments.flag("-q,--quiet", options.quiet, "Say nothing of what is left out, and show no progress");
  arguments.positional("TAG", options.tag, Need::required, "The snapshot");
  arguments.positional("FILE", options.file, Need::required, "Where to write the archive, '-' for stdout");
}

// Complete or not there: written beside its place, and for its owner only, as variables of the sandbox are in it. What
// is there and no file (a pipe, a terminal) is written to.
class Output {
 public:
  static Result<Output> open(const std::string& path) {
    Output output;
    struct stat info{};
    const bool other = path != "-" && stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
    if (path == "-") return output;
    output.path_ = path;
    if (!other) output.aside_ = path + ".new-" + std::to_string(getpid());
    const int flags = other ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    output.fd_.reset(::open((other ? path : output.aside_).c_str(), flags, 0600));
    if (!output.fd_) {
      output.aside_.clear();
      return fail_errno("create " + path);
    }
    return output;
  }
  Output(Output&&) noexcept = default;
  Output& operator=(Output&&) = delete;
  ~Output() {
    if (!aside_.empty()) unlink(aside_.c_str());
  }

  int fd() const { return fd_ ? fd_.get() : STDOUT_FILENO; }
  std::string shown() const { return path_.empty() ? "output" : path_; }
  Result<void> finish() {
    if (aside_.empty()) return {};
    if (fsync(fd_.get()) < 0 || rename(aside_.c_str(), path_.c_str()) < 0) return fail_errno("write " + path_);
    aside_.clear();
    return {};
  }

 private:
  Output() = default;
  std::string path_, aside_;
  UniqueFd fd_;
};

// One line that is written over, on a terminal only.
class Line {
 public:
  explicit Line(bool shown) : shown_(shown && isatty(STDERR_FILENO) == 1) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    if (written_) std::fputs("\r\033[K", stderr);
  }
  void show(const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    written_ = true;
    std::fputs(("\r\033[K" + text).c_str(), stderr);
  }

 private:
  bool shown_, written_ = false;
  std::chrono::steady_clock::time_point last_;
};

Result<void> go_on(const std::stop_token& stop) {
  if (!stop.stop_requested()) return {};
  return fail(Errc::cancelled, "interrupted: nothing was written");
}

Result<void> write_snapshot(const SnapshotExportOptions& options, const std::stop_token& stop) {
  COVE_TRY(const std::string home, record::home());
  COVE_TRY(record::Snapshot snapshot, record::find_snapshot(options.tag));
  COVE_TRY(Store store, open_store());
  COVE_TRY(const UniqueFd held, store.hold());
  std::optional<EngineSnapshot> taken;
  if (traits_of(snapshot.backend).images == Images::engine) {
    COVE_TRY(EngineSnapshot image, EngineSnapshot::take(store, snapshot, stop));
    snapshot = taken.emplace(std::move(image)).as_native();
  }
  COVE_TRY(SnapshotArchive planned, plan_archive(store, home, snapshot));
  if (!options.quiet) {
    for (const std::string& note : planned.notes) cli::complain("snapshot " + options.tag + ": " + note);
  }
  COVE_TRY(Output output, Output::open(options.file));
  Line line(!options.quiet);
  const std::string count = std::to_string(planned.archive.layers.size());
  planned.archive.progress = [&](std::size_t layer, std::uint64_t bytes) {
    line.show("layer " + std::to_string(layer + 1) + " of " + count + ": " + size_text(bytes));
    return go_on(stop);
  };
  const std::string what = "write " + output.shown();
  const auto sink = [&](std::string_view bytes) -> Result<void> {
    COVE_CHECK(go_on(stop));
    return write_bytes(output.fd(), bytes, what);
  };
  COVE_CHECK(write_archive(store, planned.archive, sink));
  return output.finish();
}

int run(Arguments& arguments, SnapshotExportOptions& options) {
  if (options.file == "-" && isatty(STDOUT_FILENO) == 1)
    return arguments.usage_error("stdout is a terminal: give a FILE, or redirect");
  const StopOnSignal signals;
  const auto written = write_snapshot(options, signals.token());
  if (written) return 0;
  const int code = report(written.error());
  return signals.token().stop_requested() ? cli::kInterrupted : code;
}

}  // namespace

const Command kSnapshotExport{
    .name = "snapshot export",
    .usage = "TAG FILE|- [--quiet]",
    .summary = "Write a snapshot as an image that docker, podman and 'cove snapshot import' take",
    .examples =
        "  cove snapshot export before before.tar\n"
        "  docker load -i before.tar && docker run -it localhost/snapshot:before\n"
        "  cove snapshot export before - | ssh there cove snapshot import - before",
    .run = run_with<SnapshotExportOptions>,
    .describe = describe_with<SnapshotExportOptions>,
};

}  // namespace cove::image
