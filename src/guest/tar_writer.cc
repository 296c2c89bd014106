#include <algorithm>
#include <cstddef>
#include <cstring>

#include "guest/tar.h"
#include "guest/tar_format.h"

namespace cove::guest {
namespace {

char type_of(TarKind kind) {
  switch (kind) {
    case TarKind::file: return '0';
    case TarKind::hardlink: return '1';
    case TarKind::symlink: return '2';
    case TarKind::directory: return '5';
    case TarKind::fifo: return '6';
  }
  return '0';
}

void put_text(char* field, std::size_t room, std::string_view text) {
  std::memcpy(field, text.data(), std::min(room, text.size()));
}

bool fits_octal(std::size_t room, std::int64_t value) {
  return value >= 0 && value < (std::int64_t{1} << (3 * (room - 1)));
}

void put_octal(char* field, std::size_t room, std::int64_t value) {
  for (std::size_t i = room - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

// The last slash that leaves at most 155 bytes before it and 100 after it.
bool put_path(TarHeader& header, std::string_view path) {
  put_text(header.name, sizeof header.name, path);
  if (path.size() <= sizeof header.name) return true;
  const std::size_t slash = path.rfind('/', std::min(sizeof header.prefix, path.size() - 2));
  if (slash == std::string_view::npos || slash == 0 || path.size() - slash - 1 > sizeof header.name) return false;
  std::memset(header.name, 0, sizeof header.name);
  put_text(header.prefix, sizeof header.prefix, path.substr(0, slash));
  put_text(header.name, sizeof header.name, path.substr(slash + 1));
  return true;
}

// What does not fit goes to `pax`; the field then holds the largest number, which is nobody's.
void put_id(char (&field)[8], std::int64_t id, std::string_view key, std::string& pax) {
  const bool fits = fits_octal(sizeof field, id);
  put_octal(field, sizeof field, fits ? id : 07777777);
  if (!fits) append_pax(pax, key, std::to_string(id));
}

std::string_view seal(TarHeader& header) {
  put_octal(header.checksum, 7, checksums(header).as_unsigned);
  header.checksum[7] = ' ';
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

TarHeader blank_header(char type) {
  TarHeader header = {};
  header.type = type;
  std::memcpy(header.magic, "ustar\00000", 8);
  return header;
}

TarHeader header_of(const TarEntry& entry, std::string& pax) {
  TarHeader header = blank_header(type_of(entry.kind));
  std::string path = entry.path;
  if (entry.kind == TarKind::directory && !path.ends_with('/')) path += '/';
  if (!put_path(header, path)) append_pax(pax, "path", path);
  put_text(header.link, sizeof header.link, entry.link);
  if (entry.link.size() > sizeof header.link) append_pax(pax, "linkpath", entry.link);
  put_octal(header.mode, sizeof header.mode, entry.mode & 07777);
  put_id(header.uid, entry.uid, "uid", pax);
  put_id(header.gid, entry.gid, "gid", pax);
  const auto size = static_cast<std::int64_t>(entry.kind == TarKind::file ? entry.size : 0);
  put_octal(header.size, sizeof header.size, fits_octal(sizeof header.size, size) ? size : 0);
  if (!fits_octal(sizeof header.size, size)) append_pax(pax, "size", std::to_string(size));
  const bool time_fits = fits_octal(sizeof header.mtime, entry.mtime.tv_sec);
  put_octal(header.mtime, sizeof header.mtime, time_fits ? entry.mtime.tv_sec : 0);
  if (!time_fits || entry.mtime.tv_nsec != 0) append_pax(pax, "mtime", format_pax_time(entry.mtime));
  for (const auto& [name, value] : entry.xattrs) append_pax(pax, std::string(kXattrKey) + name, value);
  return header;
}

}  // namespace

TarWriter::TarWriter(int fd)
    : TarWriter([fd](std::string_view bytes) { return write_all(fd, bytes, "write output"); }) {}

Result<void> TarWriter::begin(const TarEntry& entry) {
  std::string pax;
  TarHeader header = header_of(entry, pax);
  if (!pax.empty()) {
    TarHeader extended = blank_header('x');
    put_text(extended.name, sizeof extended.name, "PaxHeaders/entry");
    put_octal(extended.mode, sizeof extended.mode, 0644);
    put_octal(extended.size, sizeof extended.size, static_cast<std::int64_t>(pax.size()));
    COVE_CHECK(put(seal(extended)));
    written_ = 0;
    COVE_CHECK(data(pax));
    COVE_CHECK(pad());
  }
  size_ = entry.kind == TarKind::file ? entry.size : 0;
  written_ = 0;
  return put(seal(header));
}

Result<void> TarWriter::data(std::string_view bytes) {
  written_ += bytes.size();
  return put(bytes);
}

Result<void> TarWriter::end() {
  if (written_ != size_) return fail(Errc::internal, "an entry got more or less data than it had promised");
  return pad();
}

Result<void> TarWriter::finish() {
  COVE_CHECK(put(std::string(2 * kTarBlock, '\0')));
  return flush();
}

Result<void> TarWriter::pad() { return put(std::string((kTarBlock - written_ % kTarBlock) % kTarBlock, '\0')); }

Result<void> TarWriter::put(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kIoBytes) COVE_CHECK(flush());
  if (bytes.size() >= kIoBytes) return write_(bytes);
  buffer_ += bytes;
  return {};
}

Result<void> TarWriter::flush() {
  COVE_CHECK(write_(buffer_));
  buffer_.clear();
  return {};
}

}  // namespace cove::guest
