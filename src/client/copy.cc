#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "client/extract.h"
#include "client/file_call.h"
#include "client/pool.h"
#include "client/settle.h"
#include "client/tar_source.h"

namespace cove {
namespace {

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeReader>;

struct Target {
  std::string directory, name;  // name "." is the directory itself
};

Target split_target(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == ".." || name == "~") return {path, "."};
  if (slash == std::string::npos) return {".", name};
  return {slash == 0 ? "/" : path.substr(0, slash), name};
}

Result<void> write_all(int file, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = write(file, bytes, size);
    if (n < 0 && errno != EINTR) return fail_errno("write the copy");
    if (n > 0) bytes += n, size -= static_cast<std::size_t>(n);
  }
  return {};
}

// The copy's own name stands for the archive's first component, whatever the sandbox calls it.
std::string renamed(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? "new" : "new" + std::string(path.substr(slash));
}

Result<Extractor::Entry> to_entry(archive_entry* from) {
  const char* path = archive_entry_pathname(from);
  if (path == nullptr) return fail(Errc::protocol, "the sandbox sent an entry without a name");
  COVE_CHECK(check_entry_path(path));
  Extractor::Entry entry;
  entry.path = renamed(path);
  entry.mode = archive_entry_mode(from);
  entry.mtime = {.tv_sec = archive_entry_mtime(from), .tv_nsec = archive_entry_mtime_nsec(from)};
  if (const char* link = archive_entry_hardlink(from)) {
    COVE_CHECK(check_entry_path(link));
    entry.hard_link = true;
    entry.link = renamed(link);
  } else if (const char* target = archive_entry_symlink(from)) {
    entry.link = target;
  }
  return entry;
}

Result<void> copy_content(archive* reader, int file) {
  const void* piece = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0, at = 0;
  while (true) {
    const int got = archive_read_data_block(reader, &piece, &size, &offset);
    if (got == ARCHIVE_EOF) return {};
    if (got < ARCHIVE_WARN) return fail(Errc::protocol, "the sandbox's archive ends in the middle of a file");
    if (offset != at && lseek(file, offset, SEEK_SET) < 0) return fail_errno("write the copy");
    COVE_CHECK(write_all(file, static_cast<const char*>(piece), size));
    at = offset + static_cast<la_int64_t>(size);
  }
}

// One entry after the other until the archive ends; what is neither file, directory nor link is skipped and named.
Result<std::vector<std::string>> unpack(archive* reader, Extractor& extractor) {
  std::vector<std::string> skipped;
  archive_entry* header = nullptr;
  while (true) {
    const int got = archive_read_next_header(reader, &header);
    if (got == ARCHIVE_EOF) break;
    if (got < ARCHIVE_WARN) {
      const char* why = archive_error_string(reader);
      return fail(Errc::protocol, std::string("the sandbox's archive is broken: ") + (why != nullptr ? why : "?"));
    }
    COVE_TRY(const Extractor::Entry entry, to_entry(header));
    auto file = extractor.add(entry);
    if (!file && file.error().code == Errc::unsupported) {
      skipped.push_back(file.error().message);
      continue;
    }
    if (!file) return fail(std::move(file).error());
    if (!*file) continue;
    COVE_CHECK(copy_content(reader, file->get()));
    COVE_CHECK(extractor.finish_file(file->get(), entry));
  }
  COVE_CHECK(extractor.finish());
  return skipped;
}

}  // namespace

Result<std::vector<std::string>> Sandbox::copy_in(const std::string& host, const std::string& inside,
                                                  const Call& call) {
  const Target target = split_target(inside);
  COVE_TRY(TarSource tar, TarSource::open(host, target.name));
  StdinSource source{.fd = -1, .pull = [&](std::span<char> space) { return tar.pull(space); }};
  proto::FileRequest request;
  request.op = proto::FileOp::tar_in;
  request.path = target.directory;
  COVE_TRY(auto connection, this->request(proto::ClientType::run, proto::encode(file_message(request, source))));
  Conversation conversation(*connection, std::move(source), nullptr, call);
  COVE_TRY(const Outcome outcome, converse(conversation, {}));
  COVE_CHECK(check_file(outcome));
  return tar.take_skipped();
}

// libarchive asks for bytes when it wants them, and asking drives the conversation: no thread, no whole archive.
struct Sandbox::TarReply {
  Conversation& conversation;
  std::optional<Outcome> outcome;
  std::optional<Error> error;

  static la_ssize_t read(archive*, void* self, const void** bytes) {
    auto& reply = *static_cast<TarReply*>(self);
    while (!reply.outcome) {
      auto event = reply.conversation.next();
      if (!event) {
        reply.error = std::move(event).error();
        return -1;
      }
      if (auto* outcome = std::get_if<Outcome>(&*event)) reply.outcome = std::move(*outcome);
      const auto* output = std::get_if<Conversation::Output>(&*event);
      if (output == nullptr || output->stream != Stream::out || output->bytes.empty()) continue;
      *bytes = output->bytes.data();
      return static_cast<la_ssize_t>(output->bytes.size());
    }
    return 0;
  }
};

Result<std::vector<std::string>> Sandbox::copy_out(const std::string& inside, const std::string& host,
                                                   const Call& call) {
  COVE_TRY(const Scratch scratch, Scratch::beside(host));
  COVE_TRY(UniqueFd root, scratch.open());
  proto::FileRequest request;
  request.op = proto::FileOp::tar_out;
  request.path = inside;
  COVE_TRY(auto connection, this->request(proto::ClientType::run, proto::encode(file_message(request, {}))));
  Conversation conversation(*connection, {}, nullptr, call);
  TarReply reply{conversation, std::nullopt, std::nullopt};
  const Reader reader(archive_read_new());
  archive_read_support_format_tar(reader.get());
  Extractor extractor(std::move(root));
  Result<std::vector<std::string>> skipped;
  if (archive_read_open(reader.get(), &reply, nullptr, TarReply::read, nullptr) < ARCHIVE_WARN) {
    skipped = fail(Errc::protocol, "the sandbox sent no archive");
  } else {
    skipped = unpack(reader.get(), extractor);
  }
  if (reply.error) return fail(explain(std::move(*reply.error), conversation.id()));
  if (reply.outcome) COVE_CHECK(check_file(*reply.outcome));
  if (!skipped) return skipped;
  COVE_CHECK(settle(scratch.path() + "/new", host));
  return skipped;
}

}  // namespace cove
