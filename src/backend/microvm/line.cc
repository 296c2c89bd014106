#include "backend/microvm/line.h"

namespace cove::microvm {
namespace {

std::string text(int number) { return std::to_string(number); }

void add(std::vector<std::string>& line, std::initializer_list<std::string> words) {
  line.insert(line.end(), words.begin(), words.end());
}

void add_disk(std::vector<std::string>& line, const std::string& name, Fd fd, const std::string& options) {
  const std::string set = text(fd);
  add(line, {"-add-fd", "fd=" + set + ",set=" + set});
  add(line,
      {"-blockdev", "driver=file,node-name=" + name + "-file,filename=/dev/fdset/" + set + ",locking=off" + options});
  add(line, {"-blockdev", "driver=raw,node-name=" + name + ",file=" + name + "-file" + options});
  add(line, {"-device", "virtio-blk-device,drive=" + name + ",serial=" + name});
}

void add_streams(std::vector<std::string>& line) {
  add(line, {"-chardev", "socket,id=qmp,fd=" + text(qmp_fd), "-mon", "chardev=qmp,mode=control"});
  add(line, {"-add-fd", "fd=" + text(console_fd) + ",set=" + text(console_fd)});
  add(line,
      {"-chardev", "file,id=console,append=on,path=/dev/fdset/" + text(console_fd), "-serial", "chardev:console"});
  add(line, {"-device", "virtio-serial-device,max_ports=5"});
  add(line, {"-chardev", "socket,id=channel,fd=" + text(channel_fd)});
  add(line, {"-device", "virtserialport,chardev=channel,name=cove.channel"});
  add(line, {"-chardev", "socket,id=control,fd=" + text(control_fd)});
  add(line, {"-device", "virtserialport,chardev=control,name=cove.control"});
  add(line, {"-chardev", "socket,id=files,fd=" + text(files_fd)});
  add(line, {"-device", "virtserialport,chardev=files,name=cove.files"});
}

}  // namespace

std::string kernel_line(const LineSpec& spec) {
  // What a machine of this kind has no use for costs a third of the time to boot.
  std::string line =
      "console=ttyS0 quiet loglevel=1 panic=-1 reboot=t rdinit=/init cryptomgr.notests pty.legacy_count=0 audit=0 "
      "apparmor=0 random.trust_cpu=on initcall_blacklist=init_kprobe_trace,load_system_certificate_list,"
      "crypto_kdf108_init";
  if (!spec.accel.kvm) {
    // Without the rate the kernel measures it against a clock that TCG does not keep in time, and sometimes hangs. QEMU
    // keeps translated code by its address: with the same addresses in every process it is not translated again.
    line += " tsc_early_khz=" + std::to_string(spec.accel.tsc_khz) + " norandmaps mitigations=off";
    if (spec.shape.cpus == 1) line += " noreplace-smp";
  }
  if (spec.shape.disk_mib > 0) line += " cove.disk";
  return line;
}

std::vector<std::string> qemu_line(const LineSpec& spec) {
  const Shape& shape = spec.shape;
  std::vector<std::string> line{"qemu-system-x86_64", "-nodefaults", "-no-user-config",
                                "-display",           "none",        "-no-reboot"};
  add(line, {"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"});
  add(line, {"-M", "microvm,memory-backend=ram,suppress-vmdesc=on"});
  if (spec.accel.kvm)
    add(line, {"-accel", "kvm", "-cpu", "host"});
  else
    add(line,
        {"-accel", std::string("tcg,tb-size=128,thread=") + (shape.cpus == 1 ? "single" : "multi"), "-cpu", "qemu64"});
  add(line, {"-smp", std::to_string(shape.cpus), "-m", std::to_string(shape.memory_mib) + "M"});
  add(line,
      {"-object", "memory-backend-file,id=ram,size=" + std::to_string(shape.memory_mib) + "M,mem-path=/proc/self/fd/" +
                      text(ram_fd) + ",share=" + (spec.begin == Begin::boot ? "on" : "off")});
  // A saved state then begins with the devices, which is how states are saved here (save_state).
  add(line, {"-global", "migration.send-configuration=off"});
  add_streams(line);
  add_disk(line, "root", root_fd, ",read-only=on");
  if (shape.disk_mib > 0) add_disk(line, "disk", disk_fd, ",discard=unmap");
  if (shape.network) add(line, {"-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-device,netdev=net"});
  if (spec.begin == Begin::boot)
    add(line, {"-kernel", "/proc/self/fd/" + text(kernel_fd), "-initrd", "/proc/self/fd/" + text(initrd_fd), "-append",
               kernel_line(spec)});
  else
    add(line, {"-incoming", "defer"});
  return line;
}

}  // namespace cove::microvm
