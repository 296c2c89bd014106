#include "backend/microvm/boot_files.h"

#include <elf.h>
#include <sys/stat.h>

#include <cstring>

#include "backend/guest_path.h"
#include "backend/microvm/cpio.h"
#include "backend/microvm/files.h"
#include "backend/microvm/modules.h"

namespace cove::microvm {
namespace {

// It is the first program that runs, before there is any library.
bool is_static(std::string_view program) {
  Elf64_Ehdr header{};
  if (program.size() < sizeof(header) || !program.starts_with("\x7f"
                                                              "ELF"))
    return false;
  std::memcpy(&header, program.data(), sizeof(header));
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::size_t at = header.e_phoff + i * sizeof(segment);
    if (at > program.size() || program.size() - at < sizeof(segment)) return false;
    std::memcpy(&segment, program.data() + at, sizeof(segment));
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

Result<std::string> make_initrd(const std::string& guest, const Kernel& kernel) {
  COVE_TRY(const std::string program, read_whole(guest));
  if (!is_static(program))
    return fail(Errc::unsupported, guest +
                                       " is not linked statically, as a sanitizer's build is not: a microVM has no "
                                       "libraries for it");
  CpioWriter out;
  for (const char* directory : {"dev", "proc", "sys", "modules", "image", "own", "root"}) out.add_directory(directory);
  out.add_device("dev/console", 0600, 5, 1);  // or the kernel cannot open it for /init
  out.add_file("init", program, 0755);
  COVE_TRY(const auto modules, modules_for_machine(kernel.modules));
  int number = 10;
  for (const Module& module : modules) {
    COVE_TRY(const std::string bytes, read_whole(module.path));
    out.add_file("modules/" + std::to_string(number++) + "-" + module.name, bytes);
  }
  return out.finish();
}

// QEMU opens them again by their descriptors, as nobody.
Result<void> write_for_all(const std::string& path, std::string_view bytes) {
  COVE_CHECK(write_whole(path, bytes));
  if (chmod(path.c_str(), 0444) < 0) return fail_errno("show " + path);
  return {};
}

}  // namespace

Result<BootFiles> make_boot_files(const std::string& cache, const Kernel& kernel, Deadline deadline) {
  COVE_TRY(const std::string guest, find_guest());
  const std::string kernel_key = Key().add_file(kernel.path).text();
  const std::string guest_key = Key().add(kernel_key).add_file(guest).add_file(kernel.modules).text();
  const std::string kernels = cache + "/kernels", initrds = cache + "/initrds";
  for (const std::string& directory : {kernels, initrds}) {
    if (mkdir(directory.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + directory);
  }
  BootFiles files{.kernel = kernels + "/" + kernel_key, .initrd = initrds + "/" + guest_key, .key = guest_key};
  COVE_CHECK(ensure(
      files.kernel,
      [&](const std::string& aside) -> Result<void> {
        prune(kernels, 3);
        COVE_TRY(const std::string packed, read_whole(kernel.path));
        auto unpacked = unpack_kernel(packed);
        if (!unpacked) return fail(std::move(unpacked).error().because("kernel " + kernel.path));
        return write_for_all(aside, *unpacked);
      },
      deadline));
  COVE_CHECK(ensure(
      files.initrd,
      [&](const std::string& aside) -> Result<void> {
        prune(initrds, 3);
        COVE_TRY(const std::string bytes, make_initrd(guest, kernel));
        return write_for_all(aside, bytes);
      },
      deadline));
  return files;
}

}  // namespace cove::microvm
