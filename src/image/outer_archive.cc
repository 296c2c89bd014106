#include "image/outer_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "guest/tar.h"
#include "guest/tar_format.h"
#include "image/archives.h"
#include "image/decompress.h"
#include "image/files.h"
#include "image/layer_path.h"
#include "image/oci.h"

namespace cove::image {
namespace {

using guest::TarEntry;
using guest::TarKind;

constexpr std::size_t kMostMembers = 200'000;
constexpr PathLimits kPathLimits{.bytes = 1024, .depth = 32};

Result<std::size_t> read_at(int fd, char* to, std::size_t bytes, std::uint64_t offset) {
  while (true) {
    const ssize_t n = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) return fail_errno("read the archive");
  }
}

// Where a symlink in an archive leads: text only, nothing on disk is asked.
std::string resolved(std::string_view path, std::string_view link) {
  std::string joined(directory_part(path));
  for (std::size_t at = 0; at <= link.size();) {
    const std::size_t end = std::min(link.find('/', at), link.size());
    const std::string_view name = link.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..")
      joined = directory_part(joined);
    else
      joined += (joined.empty() ? "" : "/") + std::string(name);
  }
  return joined;
}

// Reads headers only. As it hands out one block at a time, the reader is never ahead of what it has understood, and
// where an entry's data begins is where the source stands; the data itself is passed over unread.
class Indexer final : public guest::ByteSource, public guest::TarSink {
 public:
  Indexer(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  std::map<std::string, OuterArchive::Member> members;

  Result<std::size_t> read(char* to, std::size_t bytes) override {
    if (data_ > 0) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>({bytes, data_, size_ - at_}));
      data_ -= part;
      at_ += part;
      return part;
    }
    const std::uint64_t block = guest::kTarBlock - at_ % guest::kTarBlock;
    COVE_TRY(const std::size_t got,
             read_at(fd_, to, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block)), at_));
    at_ += got;
    return got;
  }

  Result<void> begin(const TarEntry& entry) override {
    if (members.size() > kMostMembers) return fail(Errc::invalid, "the archive has too many entries");
    if (entry.kind == TarKind::file) data_ = entry.size;
    const auto path = clean_layer_path(entry.path, kPathLimits);
    if (!path || path->empty()) return {};  // nothing that is asked for
    if (entry.kind == TarKind::file) members[*path] = {.offset = at_, .size = entry.size, .link = ""};
    if (entry.kind == TarKind::symlink) members[*path] = {.link = resolved(*path, entry.link)};
    if (entry.kind == TarKind::hardlink) members[*path] = {.link = resolved("", entry.link)};
    return {};
  }
  Result<void> data(std::string_view) override { return {}; }
  Result<void> end() override { return {}; }

 private:
  int fd_;
  std::uint64_t size_, at_ = 0, data_ = 0;
};

class Part final : public LayerSource {
 public:
  Part(int fd, std::uint64_t offset, std::uint64_t size) : fd_(fd), at_(offset), end_(offset + size) {}
  Result<std::size_t> read(std::span<std::byte> room) override {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), end_ - at_));
    if (want == 0) return std::size_t{0};
    COVE_TRY(const std::size_t got, read_at(fd_, reinterpret_cast<char*>(room.data()), want, at_));
    if (got == 0) return fail(Errc::protocol, "the archive became shorter while it was read");
    at_ += got;
    return got;
  }

 private:
  int fd_;
  std::uint64_t at_, end_;
};

Result<UniqueFd> spool(const Store& store, int fd, const UnpackLimits& limits) {
  const auto source = source_of_fd(fd);
  COVE_TRY(const auto input, make_decompressor(*source));
  COVE_TRY(UniqueFd copy, make_spool(store));
  std::vector<std::byte> buffer(std::size_t{256} << 10);
  std::uint64_t total = 0;
  while (true) {
    COVE_TRY(const std::size_t got, input->read(buffer));
    if (got == 0) return copy;
    total += got;
    if (total > limits.bytes)
      return fail(Errc::invalid, "the archive has more than " + std::to_string(limits.bytes) + " bytes");
    if (total > limits.free_bytes && total / limits.ratio > input->read_bytes())
      return fail(Errc::invalid, "the archive grows more than " + std::to_string(limits.ratio) +
                                     " times when it is decompressed: refused as a bomb");
    COVE_CHECK(write_bytes(copy.get(), {reinterpret_cast<const char*>(buffer.data()), got},
                           "copy the archive into the store"));
  }
}

// A plain tar says so in its first header.
bool is_plain_tar(int fd) {
  struct stat info{};
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || lseek(fd, 0, SEEK_CUR) != 0) return false;
  std::array<char, guest::kTarBlock> block{};
  const auto got = read_at(fd, block.data(), block.size(), 0);
  return got && *got == block.size() &&
         std::string_view(block.data() + offsetof(guest::TarHeader, magic), 5) == "ustar";
}

// So that anything else is called by its name, and not a broken tar.
Result<void> check_begins_as_tar(int fd) {
  guest::TarHeader header{};
  COVE_TRY(const std::size_t got, read_at(fd, reinterpret_cast<char*>(&header), sizeof(header), 0));
  if (got == 0) return fail(Errc::invalid, "there is no image in it: it is empty");
  const auto claimed = guest::parse_number({header.checksum, sizeof header.checksum});
  const guest::TarChecksums sums = guest::checksums(header);
  const char* bytes = reinterpret_cast<const char*>(&header);
  const bool zeros = std::all_of(bytes, bytes + sizeof header, [](char c) { return c == 0; });
  if (got == sizeof header && (zeros || (claimed && (*claimed == sums.as_unsigned || *claimed == sums.as_signed))))
    return {};
  return fail(Errc::invalid,
              "this is no archive of an image: it is no tar, neither plain nor in gzip or zstd; 'docker save', 'podman "
              "save', 'skopeo copy' and 'cove image save' write one");
}

}  // namespace

Result<UniqueFd> make_spool(const Store& store) {
  const std::string folder = store.path() + "/downloads";
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string path = folder + "/.new-XXXXXX";  // not every file system has O_TMPFILE
  fd.reset(mkostemp(path.data(), O_CLOEXEC));
  if (!fd) return fail_errno("make a file in " + folder);
  unlink(path.c_str());
  return fd;
}

Result<OuterArchive> OuterArchive::open(const Store& store, int fd, const UnpackLimits& limits) {
  OuterArchive archive;
  archive.fd_ = fd;
  if (!is_plain_tar(fd)) {
    COVE_TRY(archive.own_, spool(store, fd, limits));
    archive.fd_ = archive.own_.get();
  }
  COVE_CHECK(check_begins_as_tar(archive.fd_));
  struct stat info{};
  if (fstat(archive.fd_, &info) < 0) return fail_errno("stat the archive");
  Indexer indexer(archive.fd_, static_cast<std::uint64_t>(info.st_size));
  COVE_CHECK(guest::read_tar(indexer, indexer));
  archive.members_ = std::move(indexer.members);
  return archive;
}

const OuterArchive::Member* OuterArchive::find(const std::string& path) const {
  std::string at = path;
  for (int hops = 0; hops < 8; ++hops) {
    const auto member = members_.find(at);
    if (member == members_.end()) return nullptr;
    if (member->second.link.empty()) return &member->second;
    at = member->second.link;
  }
  return nullptr;
}

Result<const OuterArchive::Member*> OuterArchive::need(const std::string& path) const {
  if (const Member* member = find(path)) return member;
  return fail(Errc::invalid, "the archive has no '" + shown(path) + "', which it speaks of");
}

Result<std::string> OuterArchive::text(const std::string& path) const {
  COVE_TRY(const Member* member, need(path));
  if (member->size > kMostManifestBytes)
    return fail(Errc::invalid, "'" + shown(path) + "' of the archive is too large");
  Part part(fd_, member->offset, member->size);
  std::string bytes(static_cast<std::size_t>(member->size), '\0');
  for (std::size_t have = 0; have < bytes.size();) {
    COVE_TRY(const std::size_t got, part.read(std::as_writable_bytes(std::span(bytes).subspan(have))));
    have += got;
  }
  return bytes;
}

Result<std::unique_ptr<LayerSource>> OuterArchive::layer(const std::string& path) const {
  COVE_TRY(const Member* member, need(path));
  return std::make_unique<Part>(fd_, member->offset, member->size);
}

}  // namespace cove::image
