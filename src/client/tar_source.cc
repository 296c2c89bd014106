#include "client/tar_source.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cove {
namespace {

la_ssize_t append_made(archive*, void* made, const void* bytes, std::size_t size) {
  static_cast<ByteQueue*>(made)->append({static_cast<const char*>(bytes), size});
  return static_cast<la_ssize_t>(size);
}

Failure writer_error(archive* writer, const std::string& path) {
  const char* why = archive_error_string(writer);
  return fail(Errc::internal, "pack " + path + ": " + (why != nullptr ? why : "unknown error"));
}

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

Result<std::string> read_link(const FTSENT& node) {
  std::string target(static_cast<std::size_t>(std::max<off_t>(node.fts_statp->st_size, 0)) + 4096, '\0');
  const ssize_t n = readlink(node.fts_accpath, target.data(), target.size());
  if (n < 0) return fail_errno("read link " + std::string(node.fts_path));
  target.resize(static_cast<std::size_t>(n));
  return target;
}

}  // namespace

TarSource::State::~State() {
  if (writer != nullptr) archive_write_free(writer);
  if (tree != nullptr) fts_close(tree);
}

TarSource::TarSource(TarSource&&) noexcept = default;
TarSource::~TarSource() = default;

Result<TarSource> TarSource::open(const std::string& host, const std::string& as) {
  TarSource source;
  source.state_ = std::make_unique<State>();
  State& state = *source.state_;
  state.as = as;
  state.root_bytes = host.size();
  char* const paths[] = {const_cast<char*>(host.c_str()), nullptr};
  state.tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, nullptr);
  if (state.tree == nullptr) return fail_errno("open " + host);
  state.writer = archive_write_new();
  archive_write_set_format_pax(state.writer);
  // Names are bytes; without this libarchive would turn them into the locale's characters and back.
  archive_write_set_format_option(state.writer, "pax", "hdrcharset", "BINARY");
  archive_write_set_bytes_per_block(state.writer, 0);
  if (archive_write_open(state.writer, &state.made, nullptr, append_made, nullptr) != ARCHIVE_OK) {
    return writer_error(state.writer, host);
  }
  return source;
}

Result<std::size_t> TarSource::pull(std::span<char> space) {
  while (state_->made.empty() && !state_->done) COVE_CHECK(step());
  const std::size_t n = std::min(space.size(), state_->made.size());
  if (n > 0) std::memcpy(space.data(), state_->made.view().data(), n);
  state_->made.consume(n);
  return n;
}

Result<void> TarSource::step() { return state_->content ? copy_content() : next_entry(); }

Result<void> TarSource::next_entry() {
  errno = 0;
  const FTSENT* node = fts_read(state_->tree);
  if (node == nullptr) {
    if (errno != 0) return fail_errno("read the directory tree");
    state_->done = true;
    if (archive_write_close(state_->writer) != ARCHIVE_OK) return writer_error(state_->writer, "the last entry");
    return {};
  }
  switch (node->fts_info) {
    case FTS_DP: return {};
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: return fail(errno_error(node->fts_errno, "read " + std::string(node->fts_path)));
    case FTS_D:
    case FTS_F:
    case FTS_SL:
    case FTS_SLNONE: return write_header(*node);
    default: state_->skipped.push_back(std::string(node->fts_path) + " is not a file, directory or symlink"); return {};
  }
}

Result<void> TarSource::write_header(const FTSENT& node) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_copy_stat(entry.get(), node.fts_statp);
  archive_entry_unset_atime(entry.get());
  archive_entry_unset_ctime(entry.get());
  archive_entry_copy_pathname(entry.get(),
                              (state_->as + std::string(node.fts_path).substr(state_->root_bytes)).c_str());
  if (S_ISLNK(node.fts_statp->st_mode)) {
    COVE_TRY(const std::string target, read_link(node));
    archive_entry_copy_symlink(entry.get(), target.c_str());
  }
  if (S_ISREG(node.fts_statp->st_mode)) {
    state_->content.reset(::open(node.fts_accpath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW * (node.fts_level > 0)));
    if (!state_->content) return fail_errno("open " + std::string(node.fts_path));
  }
  if (archive_write_header(state_->writer, entry.get()) < ARCHIVE_WARN) {
    return writer_error(state_->writer, node.fts_path);
  }
  return {};
}

// A file that shrinks meanwhile is filled up with zeros by libarchive, one that grows is cut: the header has been sent.
Result<void> TarSource::copy_content() {
  char piece[32768];
  const ssize_t n = read(state_->content.get(), piece, sizeof(piece));
  if (n < 0 && errno != EINTR) return fail_errno("read a file to copy");
  if (n > 0 && archive_write_data(state_->writer, piece, static_cast<std::size_t>(n)) < 0) {
    return writer_error(state_->writer, "a file's content");
  }
  if (n == 0) state_->content.reset();
  return {};
}

}  // namespace cove
