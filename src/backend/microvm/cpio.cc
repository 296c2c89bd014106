#include "backend/microvm/cpio.h"

#include <sys/stat.h>

#include <cstdio>

namespace cove::microvm {
namespace {

void pad(std::string& out) { out.append((4 - out.size() % 4) % 4, '\0'); }

}  // namespace

void CpioWriter::add(std::string_view path, const Entry& entry, std::string_view bytes) {
  char header[111];
  std::snprintf(header, sizeof(header), "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", ++last_inode_,
                entry.mode, 0U, 0U, entry.links, 0U, static_cast<unsigned>(bytes.size()), 0U, 0U, entry.major,
                entry.minor, static_cast<unsigned>(path.size() + 1), 0U);
  out_ += header;
  out_ += path;
  out_ += '\0';
  pad(out_);
  out_ += bytes;
  pad(out_);
}

void CpioWriter::add_directory(std::string_view path, std::uint32_t mode) {
  add(path, {.mode = S_IFDIR | mode, .links = 2}, {});
}

void CpioWriter::add_file(std::string_view path, std::string_view bytes, std::uint32_t mode) {
  add(path, {.mode = S_IFREG | mode}, bytes);
}

void CpioWriter::add_device(std::string_view path, std::uint32_t mode, std::uint32_t major, std::uint32_t minor) {
  add(path, {.mode = S_IFCHR | mode, .major = major, .minor = minor}, {});
}

std::string CpioWriter::finish() {
  add("TRAILER!!!", {}, {});
  out_.append((512 - out_.size() % 512) % 512, '\0');
  return std::move(out_);
}

}  // namespace cove::microvm
