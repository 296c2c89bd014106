#include <fcntl.h>
#include <unistd.h>

#include "image/cli/commands.h"
#include "image/snapshot.h"

namespace cove::image {
namespace {

struct SnapshotImportOptions {
  std::string file, tag;
};

void define(Arguments& arguments, SnapshotImportOptions& options) {
  arguments.positional("FILE", options.file, Need::required, "What 'cove snapshot export' wrote, '-' for stdin");
  arguments.positional("TAG", options.tag, Need::required, "How to call it here");
}

Result<record::Snapshot> read_snapshot(const SnapshotImportOptions& options) {
  UniqueFd file;
  if (options.file != "-") {
    file.reset(open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("open " + options.file);
  }
  COVE_TRY(Store store, open_store());
  return import_snapshot(store, file ? file.get() : STDIN_FILENO, options.tag);
}

int run(Arguments& arguments, SnapshotImportOptions& options) {
  if (options.file == "-" && isatty(STDIN_FILENO) == 1)
    return arguments.usage_error("stdin is a terminal: give a FILE, or pipe an archive into this command");
  const auto snapshot = read_snapshot(options);
  if (!snapshot) return report(snapshot.error());
  print(snapshot->tag + "\n");
  return 0;
}

}  // namespace

const Command kSnapshotImport{
    .name = "snapshot import",
    .usage = "FILE|- TAG",
    .summary = "Take a snapshot, its files and sessions, from an archive",
    .examples = "  cove snapshot import before.tar before\n  cove create --from before again",
    .run = run_with<SnapshotImportOptions>,
    .describe = describe_with<SnapshotImportOptions>,
};

}  // namespace cove::image
