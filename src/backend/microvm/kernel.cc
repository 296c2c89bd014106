#include "backend/microvm/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/unique_fd.h"

namespace cove::microvm {
namespace {

constexpr std::size_t kMostKernel = std::size_t{512} << 20;
constexpr std::string_view kElf{
    "\x7f"
    "ELF",
    4};
constexpr std::uint32_t kLz4Legacy = 0x184c2102;
constexpr std::size_t kLz4Block = std::size_t{8} << 20;

// Little-endian; past the end it is 0, which no field that is used here may be.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

Failure damaged(const std::string& what) {
  return fail(Errc::invalid, "the kernel is damaged: " + what + "; take it from its package again");
}

// One block: literals and copies of what came before, each with a length. False: it is none.
class Lz4Block {
 public:
  Lz4Block(std::string_view in, std::string& out) : in_(in), out_(out), start_(out.size()) {}

  bool unpack() {
    while (at_ < in_.size()) {
      const auto token = static_cast<unsigned char>(in_[at_++]);
      if (!copy_literals(token >> 4U)) return false;
      if (at_ == in_.size()) return true;  // the last ones
      if (!copy_earlier(token & 15U)) return false;
    }
    return false;
  }

 private:
  bool read_length(std::size_t& length) {
    if (length != 15) return true;
    while (at_ < in_.size()) {
      const auto more = static_cast<unsigned char>(in_[at_++]);
      length += more;
      if (more != 255) return length <= kLz4Block;
    }
    return false;
  }
  bool has_room(std::size_t length) const { return out_.size() - start_ + length <= kLz4Block; }
  bool copy_literals(std::size_t length) {
    if (!read_length(length) || length > in_.size() - at_ || !has_room(length)) return false;
    out_ += in_.substr(at_, length);
    at_ += length;
    return true;
  }
  bool copy_earlier(std::size_t length) {
    if (in_.size() - at_ < 2) return false;
    const std::size_t distance = number_at(in_, at_, 2);
    at_ += 2;
    if (!read_length(length) || !has_room(length + 4)) return false;
    if (distance == 0 || distance > out_.size() - start_) return false;
    // Byte by byte: what is copied may be what this very copy writes.
    for (std::size_t left = length + 4; left > 0; --left) out_ += out_[out_.size() - distance];
    return true;
  }

  std::string_view in_;
  std::string& out_;
  std::size_t at_ = 0;
  const std::size_t start_;
};

// With a payload that is described: version 2.08 and later.
bool is_bzimage(std::string_view file) {
  return file.size() > 0x250 && file.substr(0x202, 4) == "HdrS" && number_at(file, 0x206, 2) >= 0x208;
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// ROOT/boot/vmlinuz-V has its modules in ROOT/lib/modules/V.
std::string modules_of(const std::string& path, const std::string& version) {
  const std::size_t boot = path.rfind("/boot/");
  if (version.empty() || version.find('/') != std::string::npos) return "";
  std::vector<std::string> roots;
  if (boot != std::string::npos) roots.push_back(path.substr(0, boot));
  roots.emplace_back();
  for (const std::string& root : roots) {
    for (const char* below : {"/lib/modules/", "/usr/lib/modules/"}) {
      if (is_directory(root + below + version)) return root + below + version;
    }
  }
  return "";
}

Result<Kernel> describe(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errno_error(errno, "open kernel " + path));
  std::string head(65536, '\0');
  const ssize_t n = pread(file.get(), head.data(), head.size(), 0);
  head.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  Kernel kernel{.path = path, .version = kernel_version(head), .modules = ""};
  const std::size_t name = path.rfind('/') + 1, dash = path.find('-', name);
  if (kernel.version.empty() && head.starts_with(kElf) && dash != std::string::npos)
    kernel.version = path.substr(dash + 1);
  kernel.modules = modules_of(path, kernel.version);
  return kernel;
}

// Of several the one whose name sorts last.
std::string newest_in(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(directory.c_str()), closedir);
  std::string best;
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    const std::string name = entry->d_name;
    const bool ours = name.starts_with("vmlinuz-") && name.find("-cloud-") != std::string::npos;
    if (ours && access((directory + "/" + name).c_str(), R_OK) == 0) best = std::max(best, name);
  }
  return best.empty() ? "" : directory + "/" + best;
}

}  // namespace

std::string kernel_version(std::string_view file) {
  if (!is_bzimage(file)) return "";
  const std::size_t at = number_at(file, 0x20e, 2) + 0x200;
  if (at == 0x200 || at >= file.size()) return "";
  const std::string_view text = file.substr(at, 128);
  return std::string(text.substr(0, text.find_first_of(std::string_view(" \0", 2))));
}

Result<std::string> unpack_lz4(std::string_view stream, std::size_t limit) {
  if (number_at(stream, 0, 4) != kLz4Legacy) return damaged("what is packed in it is no lz4");
  stream.remove_prefix(4);
  std::string out;
  while (stream.size() >= 4) {
    const std::size_t size = number_at(stream, 0, 4);
    stream.remove_prefix(4);
    if (size == 0) break;
    if (size > stream.size()) return damaged("a block is longer than the file");
    if (!Lz4Block(stream.substr(0, size), out).unpack()) return damaged("a block cannot be unpacked");
    if (out.size() > limit) return damaged("it holds more than a kernel does");
    stream.remove_prefix(size);
  }
  return out;
}

Result<std::string> unpack_kernel(std::string_view file) {
  if (file.starts_with(kElf)) return std::string(file);
  if (!is_bzimage(file))
    return fail(Errc::invalid, "it is neither a Linux kernel for x86 (vmlinuz) nor an uncompressed one (vmlinux)");
  const std::size_t sectors = number_at(file, 0x1f1, 1) == 0 ? 4 : number_at(file, 0x1f1, 1);
  const std::size_t begin = (sectors + 1) * 512 + number_at(file, 0x248, 4), length = number_at(file, 0x24c, 4);
  if (length < 8 || begin > file.size() || length > file.size() - begin) return damaged("its payload is not in it");
  const std::string_view payload = file.substr(begin, length);
  if (number_at(payload, 0, 4) != kLz4Legacy)
    return fail(Errc::unsupported,
                "it is compressed in a way that is not understood here (only lz4 is): give an uncompressed vmlinux, or "
                "Debian's linux-image-cloud-amd64");
  // The size of what is packed stands behind it.
  const std::size_t size = number_at(payload, payload.size() - 4, 4);
  auto kernel = unpack_lz4(payload.substr(0, payload.size() - 4), kMostKernel);
  if (kernel && (kernel->size() != size || !kernel->starts_with(kElf))) return damaged("what comes out is no kernel");
  return kernel;
}

Result<Kernel> find_kernel(const std::string& named) {
  if (!named.empty()) return describe(named);
  for (const char* directory : {"/usr/lib/cove/kernel/boot", "/boot"}) {
    if (const std::string found = newest_in(directory); !found.empty()) return describe(found);
  }
  return fail(
      Errc::not_found,
      "there is no kernel for microVMs: unpack Debian's below /usr/lib/cove/kernel (scripts/fetch-kernel does), "
      "install linux-image-cloud-amd64, or name one with --kernel");
}

}  // namespace cove::microvm
