#include <algorithm>
#include <cstring>
#include <memory>

#include "guest/tar.h"
#include "guest/tar_format.h"

namespace cove::guest {
namespace {

Failure broken(const char* why) { return fail(Errc::protocol, std::string("the archive is broken: ") + why); }

std::string_view text(const char* field, std::size_t room) { return {field, strnlen(field, room)}; }

// Hands out a source's bytes in pieces of the reader's choice.
class Input {
 public:
  explicit Input(ByteSource& source) : source_(source), buffer_(new char[kIoBytes]) {}

  // At most `limit` bytes; none at the end of the source. Valid until the next call.
  Result<std::string_view> take(std::uint64_t limit) {
    if (from_ == to_) {
      COVE_TRY(to_, source_.read(buffer_.get(), kIoBytes));
      from_ = 0;
    }
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(limit, to_ - from_));
    from_ += size;
    return std::string_view(buffer_.get() + from_ - size, size);
  }

  Result<void> exactly(char* to, std::size_t bytes) {
    while (bytes > 0) {
      COVE_TRY(const std::string_view part, take(bytes));
      if (part.empty()) return broken("it ends too early");
      std::memcpy(to, part.data(), part.size());
      to += part.size();
      bytes -= part.size();
    }
    return {};
  }

  Result<void> skip(std::uint64_t bytes) {
    while (bytes > 0) {
      COVE_TRY(const std::string_view part, take(bytes));
      if (part.empty()) return broken("it ends too early");
      bytes -= part.size();
    }
    return {};
  }

  // So that whoever sends padding after the end of the archive does not meet a closed pipe.
  Result<void> drain() {
    for (;;) {
      COVE_TRY(const std::string_view part, take(kIoBytes));
      if (part.empty()) return {};
    }
  }

 private:
  ByteSource& source_;
  std::unique_ptr<char[]> buffer_;
  std::size_t from_ = 0, to_ = 0;
};

std::uint64_t padding(std::uint64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }

bool is_end(const TarHeader& header) {
  const char* bytes = reinterpret_cast<const char*>(&header);
  return std::all_of(bytes, bytes + sizeof header, [](char c) { return c == 0; });
}

Result<void> check_sum(const TarHeader& header) {
  const auto claimed = parse_number({header.checksum, sizeof header.checksum});
  const TarChecksums sums = checksums(header);
  if (claimed && (*claimed == sums.as_unsigned || *claimed == sums.as_signed)) return {};
  return broken("a header's checksum is wrong, or this is no plain tar");
}

std::string path_in(const TarHeader& header) {
  std::string path;
  if (std::memcmp(header.magic, "ustar", 6) == 0 && header.prefix[0] != 0) {
    path = text(header.prefix, sizeof header.prefix);
    path += '/';
  }
  return path.append(text(header.name, sizeof header.name));
}

Result<std::int64_t> number(const char* field, std::size_t room) {
  if (const auto value = parse_number({field, room})) return *value;
  return broken("a number in a header is none");
}

class Reader {
 public:
  Reader(ByteSource& source, TarSink& sink) : in_(source), sink_(sink) {}

  Result<void> run() {
    for (;;) {
      TarHeader header;
      COVE_CHECK(in_.exactly(reinterpret_cast<char*>(&header), sizeof header));
      if (is_end(header)) break;
      COVE_CHECK(check_sum(header));
      COVE_CHECK(member(header));
    }
    if (extended_) return broken("it ends after an extended header");
    return in_.drain();
  }

 private:
  Result<void> member(const TarHeader& header) {
    switch (header.type) {
      case 'x':
      case 'X':
      case 'g': return pax(header);
      case 'L': return long_text(header, current_.path);
      case 'K': return long_text(header, current_.link);
      case 'S': return fail(Errc::unsupported, "the archive has sparse entries; make it without --sparse");
      default: break;
    }
    TarEntry entry;
    COVE_CHECK(fill(header, entry));
    current_ = global_;
    extended_ = false;
    return deliver(header.type, entry);
  }

  Result<std::string> extended_data(const TarHeader& header) {
    COVE_TRY(const std::int64_t size, number(header.size, sizeof header.size));
    if (size < 0) return broken("a size is negative");
    if (static_cast<std::uint64_t>(size) > kMaxExtendedHeaderBytes) {
      return fail(Errc::invalid, "the archive has an extended header of more than 1 MiB");
    }
    std::string data(static_cast<std::size_t>(size), '\0');
    COVE_CHECK(in_.exactly(data.data(), data.size()));
    COVE_CHECK(in_.skip(padding(data.size())));
    return data;
  }

  // A global header counts from here on, and for an entry whose own header is still to come.
  Result<void> pax(const TarHeader& header) {
    COVE_TRY(const std::string records, extended_data(header));
    if (header.type == 'g')
      COVE_CHECK(apply_pax(records, global_));
    else
      extended_ = true;
    return apply_pax(records, current_);
  }

  Result<void> long_text(const TarHeader& header, std::optional<std::string>& field) {
    COVE_TRY(const std::string data, extended_data(header));
    field = std::string(text(data.data(), data.size()));
    extended_ = true;
    return {};
  }

  Result<void> fill(const TarHeader& header, TarEntry& entry) {
    entry.path = current_.path ? *current_.path : path_in(header);
    entry.link = current_.link ? *current_.link : std::string(text(header.link, sizeof header.link));
    if (entry.path.size() > kMaxPathBytes || entry.link.size() > kMaxPathBytes) {
      return fail(Errc::invalid, "the archive has a path of more than 64 KiB");
    }
    COVE_TRY(const std::int64_t size, number(header.size, sizeof header.size));
    const std::int64_t true_size = current_.size.value_or(size);
    if (true_size < 0) return broken("a size is negative");
    entry.size = static_cast<std::uint64_t>(true_size);
    COVE_TRY(const std::int64_t mode, number(header.mode, sizeof header.mode));
    entry.mode = static_cast<std::uint32_t>(mode & 07777);
    COVE_TRY(const std::int64_t uid, number(header.uid, sizeof header.uid));
    COVE_TRY(const std::int64_t gid, number(header.gid, sizeof header.gid));
    entry.uid = current_.uid.value_or(uid);
    entry.gid = current_.gid.value_or(gid);
    COVE_TRY(const std::int64_t mtime, number(header.mtime, sizeof header.mtime));
    entry.mtime = current_.mtime.value_or(timespec{mtime, 0});
    entry.xattrs = std::move(current_.xattrs);
    return {};
  }

  Result<void> deliver(char type, TarEntry& entry) {
    switch (type) {
      case '\0':
      case '0':
      case '7':
        // Before ustar a directory was a file with a slash at its end.
        if (!entry.path.ends_with('/')) return file(entry);
        return without_data(entry, TarKind::directory, entry.size);
      case '1': return without_data(entry, TarKind::hardlink, 0);  // its size is that of the other entry
      case '2': return without_data(entry, TarKind::symlink, 0);
      case '3':
      case '4': return {};
      case '5': return without_data(entry, TarKind::directory, 0);
      case '6': return without_data(entry, TarKind::fifo, 0);
      case 'D': return without_data(entry, TarKind::directory, entry.size);  // GNU: a list of names follows
      case 'V': return skip_data(entry.size);                                // GNU: the volume's label
      default: return fail(Errc::unsupported, "the archive has an entry of unknown type: " + entry.path);
    }
  }

  Result<void> file(TarEntry& entry) {
    COVE_CHECK(sink_.begin(entry));
    for (std::uint64_t left = entry.size; left > 0;) {
      COVE_TRY(const std::string_view part, in_.take(left));
      if (part.empty()) return broken("it ends too early");
      COVE_CHECK(sink_.data(part));
      left -= part.size();
    }
    COVE_CHECK(in_.skip(padding(entry.size)));
    return sink_.end();
  }

  Result<void> without_data(TarEntry& entry, TarKind kind, std::uint64_t data_bytes) {
    entry.kind = kind;
    entry.size = 0;
    COVE_CHECK(sink_.begin(entry));
    COVE_CHECK(sink_.end());
    return skip_data(data_bytes);
  }

  Result<void> skip_data(std::uint64_t bytes) {
    COVE_CHECK(in_.skip(bytes));
    return in_.skip(padding(bytes));
  }

  Input in_;
  TarSink& sink_;
  PaxFields global_, current_;
  bool extended_ = false;  // an extended header has come, its entry has not
};

}  // namespace

Result<void> read_tar(ByteSource& source, TarSink& sink) { return Reader(source, sink).run(); }

}  // namespace cove::guest
