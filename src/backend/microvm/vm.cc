#include "backend/microvm/vm.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "backend/microvm/files.h"
#include "backend/microvm/ram.h"
#include "backend/microvm/volumes.h"
#include "os/cgroup_layout.h"

namespace cove::microvm {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr int kStateSet = 64;  // a number that is no descriptor of QEMU's
constexpr const char *kRam = "/ram", *kState = "/state", *kRoot = "/root", *kDisk = "/disk", *kFits = "/fits";

struct SocketPair {
  UniqueFd ours, theirs;
};

Result<SocketPair> make_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make a socket for QEMU");
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> open_file(const std::string& path, int flags) {
  UniqueFd file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail_errno("open " + path);
  return file;
}

Result<void> copy_disk(const std::string& from, const std::string& to) {
  COVE_TRY(const UniqueFd source, open_file(from, O_RDONLY));
  const UniqueFd target(open(to.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info{};
  if (!target || fstat(source.get(), &info) < 0 || ftruncate(target.get(), info.st_size) < 0)
    return fail_errno("make " + to);
  return copy_sparsely(source.get(), target.get());
}

Result<void> keep_root(VmSpec& spec) {
  unlink(spec.own_root.c_str());
  if (link(spec.root.c_str(), spec.own_root.c_str()) < 0) return fail_errno("keep the image of the root");
  spec.root = spec.own_root;
  return {};
}

// What the kernel said. A pipe holds as much as fits: what runs inside cannot fill this machine's memory by talking.
void read_console(int console, std::string& said) {
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = read(console, bytes.data(), bytes.size())) > 0;)
    said.append(bytes.data(), static_cast<std::size_t>(n));
}

std::string line_after(const std::string& text, std::string_view word) {
  const std::size_t at = text.rfind(word);
  if (at == std::string::npos) return "";
  std::string line =
      text.substr(at + word.size(), std::min<std::size_t>(200, text.find_first_of("\r\n", at) - at - word.size()));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

}  // namespace

// Memory is only good for the same machine: the same processor, translator and devices.
std::string fitting(const VmSpec& spec) {
  Key key;
  const std::string processors = os::read_text("/proc/cpuinfo");
  const std::size_t model = processors.find("model name");
  key.add(processors.substr(std::min(model, processors.size()), processors.find('\n', model) - model));
  key.add_file(spec.qemu).add(spec.accel.name()).add(spec.shape.disk_mib);
  LineSpec line{.shape = spec.shape, .accel = spec.accel};
  line.accel.tsc_khz = 0;  // measured anew after each boot of this machine, never quite the same
  for (const std::string& word : qemu_line(line)) key.add(word);
  return key.text();
}

Result<Vm> Vm::launch(VmSpec spec, Begin begin, int ram, const os::Users& users, const os::LimitGroup& limits,
                      Deadline deadline) {
  Vm vm;
  vm.shares_ram_ = begin == Begin::boot;
  COVE_TRY(SocketPair qmp, make_pair());
  COVE_TRY(SocketPair channel, make_pair());
  COVE_TRY(SocketPair control, make_pair());
  COVE_TRY(SocketPair files, make_pair());
  int console[2];
  if (pipe2(console, O_CLOEXEC | O_NONBLOCK) < 0) return fail_errno("make a console");
  vm.console_.reset(console[0]);
  const UniqueFd spoken(console[1]);
  COVE_CHECK(keep_root(spec));
  COVE_TRY(const UniqueFd root, open_file(spec.root, O_RDONLY));
  JailPlan plan;
  plan.kvm = spec.accel.kvm;
  plan.fds = {{qmp.theirs.get(), qmp_fd},     {channel.theirs.get(), channel_fd}, {control.theirs.get(), control_fd},
              {files.theirs.get(), files_fd}, {spoken.get(), console_fd},         {ram, ram_fd},
              {root.get(), root_fd}};
  UniqueFd kernel, initrd, disk;
  if (begin == Begin::boot) {
    COVE_TRY(kernel, open_file(spec.boot.kernel, O_RDONLY));
    COVE_TRY(initrd, open_file(spec.boot.initrd, O_RDONLY));
    plan.fds.push_back({kernel.get(), kernel_fd});
    plan.fds.push_back({initrd.get(), initrd_fd});
  }
  if (spec.shape.disk_mib > 0) {
    COVE_TRY(disk, open_file(spec.disk, O_RDWR));
    plan.fds.push_back({disk.get(), disk_fd});
  }
  if (spec.network) plan.resolv_conf = spec.network->resolv_conf;
  plan.line = qemu_line({.shape = spec.shape, .accel = spec.accel, .begin = begin});
  vm.plan_ = plan;
  COVE_TRY(Jail jail, Jail::make(std::move(plan), spec.qemu, users, limits, deadline));
  if (spec.network) {
    COVE_TRY(vm.network_, native::Network::start(jail.pid(), *spec.network, deadline));
  }
  COVE_TRY(vm.jailed_, std::move(jail).let_go());
  vm.qmp_ = Qmp(std::move(qmp.ours));
  vm.channel_ = std::move(channel.ours);
  vm.control_ = std::move(control.ours);
  vm.files_ = std::move(files.ours);
  vm.spec_ = std::move(spec);
  return vm;
}

Result<Vm> Vm::boot(const VmSpec& spec, const os::Users& users, const os::LimitGroup& limits, Deadline deadline) {
  COVE_TRY(UniqueFd ram, make_ram(spec.shape.memory_mib << 20U));
  COVE_TRY(Vm vm, launch(spec, Begin::boot, ram.get(), users, limits, deadline));
  vm.ram_ = std::move(ram);
  return vm;
}

Result<Vm> Vm::restore(VmSpec spec, const std::string& saved, const os::Users& users, const os::LimitGroup& limits,
                       Deadline deadline) {
  COVE_TRY(const std::string fits, read_whole(saved + kFits));
  if (fits != fitting(spec))
    return fail(
        Errc::unsupported,
        "its memory was saved by another QEMU, on another processor, or with other limits: it cannot go on here");
  spec.root = saved + kRoot;
  if (spec.shape.disk_mib > 0) COVE_CHECK(copy_disk(saved + kDisk, spec.disk));
  COVE_TRY(SavedRam ram, SavedRam::open(saved + kRam, spec.cache));
  COVE_TRY(Vm vm, launch(std::move(spec), Begin::restore, ram.fd(), users, limits, deadline));
  COVE_TRY(vm.ram_, std::move(ram).take());
  if (auto loaded = vm.load_state(saved + kState, deadline); !loaded) return fail(std::move(loaded).error());
  return vm;
}

Result<void> Vm::load_state(const std::string& path, Deadline deadline) {
  COVE_TRY(const UniqueFd state, open_file(path, O_RDONLY));
  COVE_CHECK(qmp_.order("getfd", Json{{"fdname", "state"}}, deadline, state.get()));
  COVE_CHECK(qmp_.order("migrate-incoming", Json{{"uri", "fd:state"}}, deadline));
  return {};
}

// One that is gone closes the port, too.
Result<void> Vm::ask(proto::MachineType type, std::string_view payload, Deadline deadline) {
  COVE_CHECK(tell(type, payload));
  return hear(type, deadline);
}

Result<void> Vm::tell(proto::MachineType type, std::string_view payload) {
  ByteQueue out;
  proto::append_message(out, static_cast<std::uint8_t>(type), 0, payload);
  while (!out.empty()) {
    const ssize_t n = send(control_.get(), out.view().data(), out.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(why_gone());
    out.consume(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> Vm::hear(proto::MachineType type, Deadline deadline) {
  while (true) {
    COVE_TRY(const auto message, control_reader_.next());
    if (message) {
      COVE_TRY(const auto answer, proto::decode<proto::MachineAnswer>(message->payload));
      if (message->type != static_cast<std::uint8_t>(type)) continue;  // of a request that was given up
      if (answer.error_text.empty()) return {};
      return fail(Errc::internal, "in the machine: " + answer.error_text.substr(0, 400));
    }
    pollfd ready{control_.get(), POLLIN, 0};
    if (poll(&ready, 1, deadline.poll_timeout()) == 0) return fail(Errc::timeout, "the machine did not answer in time");
    const auto space = control_reader_.space();
    const ssize_t n = recv(control_.get(), space.data(), space.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return fail(why_gone());
    control_reader_.filled(static_cast<std::size_t>(n));
  }
}

Result<void> Vm::await_ready(Deadline deadline) { return ask(proto::MachineType::ready, {}, deadline); }
Result<void> Vm::sync(Deadline deadline) {
  if (stopped_) COVE_CHECK(go_on(deadline));
  return ask(proto::MachineType::sync, {}, deadline);
}

// What the guest said on earlier streams comes first.
Result<void> Vm::read_mark(const std::string& mark, Deadline deadline) {
  std::string heard;
  std::array<char, 65536> bytes;
  while (true) {
    pollfd ready{channel_.get(), POLLIN, 0};
    if (poll(&ready, 1, deadline.poll_timeout()) == 0) return fail(Errc::timeout, "the guest did not answer in time");
    // Not a byte more than may belong to the mark: what follows is the keeper's.
    const std::size_t wanted = heard.empty() ? mark.size() : mark.size() - heard.size();
    const ssize_t n = recv(channel_.get(), bytes.data(), std::min(wanted, bytes.size()), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return fail(why_gone());
    heard.append(bytes.data(), static_cast<std::size_t>(n));
    while (!heard.empty() && !mark.starts_with(heard)) heard.erase(0, 1);
    if (heard == mark) return {};
  }
}

Result<Channel> Vm::open_stream(const proto::Renew& renew, Deadline deadline) {
  COVE_CHECK(ask(proto::MachineType::renew, proto::encode(renew), deadline));
  std::string_view left = renew.mark;
  while (!left.empty()) {
    const ssize_t n = send(channel_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(why_gone());
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  COVE_CHECK(read_mark(renew.mark, deadline));
  Channel channel{UniqueFd(fcntl(channel_.get(), F_DUPFD_CLOEXEC, 0)),
                  UniqueFd(fcntl(channel_.get(), F_DUPFD_CLOEXEC, 0))};
  if (!channel.in || !channel.out) return fail_errno("connect to the guest");
  return channel;
}

Result<void> Vm::make_volume(const proto::MachineVolume& volume, Deadline deadline) {
  return ask(proto::MachineType::volume, proto::encode(volume), deadline);
}

Result<void> Vm::put_tree(const std::string& from, const std::string& inside, Deadline deadline) {
  COVE_CHECK(
      tell(proto::MachineType::put, proto::encode(proto::FileRequest{.op = proto::FileOp::tar_in, .path = inside})));
  const auto sent =
      move_files({.op = proto::FileOp::tar_out, .path = from + "/."}, Way::there, {.fd = files_.get()}, deadline);
  auto done = hear(proto::MachineType::put, deadline);
  return sent ? done : sent;
}

Result<void> Vm::get_tree(const std::string& inside, const std::string& into, Deadline deadline) {
  if (files_lost_) return fail(Errc::disconnected, "an earlier transfer of the machine's files broke off");
  if (stopped_) COVE_CHECK(go_on(deadline));
  const proto::FileRequest request{.op = proto::FileOp::tar_out, .path = inside + "/."};
  COVE_CHECK(tell(proto::MachineType::get, proto::encode(request)));
  // Its files are all in its memory or on its disk; an archive has some more.
  const std::uint64_t room = (spec_.shape.memory_mib + spec_.shape.disk_mib) << 21U;
  files_lost_ = true;
  const auto taken =
      move_files({.op = proto::FileOp::tar_in, .path = into}, Way::back, {.fd = files_.get(), .most = room}, deadline);
  auto done = hear(proto::MachineType::get, deadline);
  files_lost_ = !taken && taken.error().code != Errc::internal;
  return done ? taken : done;
}

Result<void> Vm::stop(Deadline deadline) {
  COVE_CHECK(qmp_.order("stop", Json(), deadline));
  stopped_ = true;
  return {};
}

Result<void> Vm::go_on(Deadline deadline) {
  COVE_CHECK(qmp_.order("cont", Json(), deadline));
  stopped_ = false;
  return {};
}

// The devices by an order that was made for Xen: unlike a migration it leaves the memory out, which is saved here page
// by page, whether it is shared or private.
Result<void> Vm::save_stopped(const std::string& directory, Deadline deadline) {
  const UniqueFd state(open((directory + kState).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!state) return fail_errno("make " + directory + kState);
  COVE_CHECK(qmp_.order("add-fd", Json{{"fdset-id", kStateSet}}, deadline, state.get()));
  const auto saved =
      qmp_.order("xen-save-devices-state",
                 Json{{"filename", "/dev/fdset/" + std::to_string(kStateSet)}, {"live", false}}, deadline);
  [[maybe_unused]] const auto removed = qmp_.order("remove-fd", Json{{"fdset-id", kStateSet}}, deadline);
  if (!saved) return fail(saved.error());
  COVE_CHECK(shares_ram_ ? save_ram(ram_.get(), directory + kRam)
                         : save_private_ram(jailed_->child.pid(), ram_.get(), directory + kRam));
  if (spec_.shape.disk_mib > 0) {
    COVE_TRY(const UniqueFd disk, open_file(spec_.disk, O_RDONLY));
    COVE_CHECK(save_ram(disk.get(), directory + kDisk));
  }
  if (link(spec_.root.c_str(), (directory + kRoot).c_str()) < 0) return fail_errno("keep the image of the root");
  return write_whole(directory + kFits, fitting(spec_));
}

Result<void> Vm::save(const std::string& directory, Deadline deadline) {
  const bool was_stopped = stopped_;
  if (!was_stopped) COVE_CHECK(stop(deadline));
  auto saved = save_stopped(directory, deadline);
  if (!was_stopped) COVE_CHECK(go_on(deadline));
  return saved;
}

Error Vm::why_gone() {
  native::StepFailure failure{};
  if (recv(jailed_->sync.get(), &failure, sizeof(failure), MSG_DONTWAIT) == sizeof(failure))
    return explain(failure, plan_);
  // Its sockets are closed a moment before it can be waited for.
  const auto status = jailed_->child.wait(Deadline::after(2s));
  read_console(console_.get(), said_);
  if (const std::string ours = line_after(said_, "cove: "); !ours.empty())
    return {Errc::internal, "the machine could not begin: " + ours};
  if (const std::string panic = line_after(said_, "Kernel panic - not syncing: "); !panic.empty())
    return {Errc::disconnected, "the kernel of the machine panicked: " + panic};
  if (!status) return {Errc::disconnected, "QEMU does not answer"};
  const std::string words = last_words(jailed_->log.get());
  if (status->code == 0) return {Errc::disconnected, "the machine was shut down from inside"};
  return {Errc::disconnected, "QEMU " + status->text() + (words.empty() ? "" : ": " + words)};
}

Result<void> Vm::end(Deadline deadline) {
  if (jailed_) {
    [[maybe_unused]] const auto sent = jailed_->child.signal(SIGKILL);
    COVE_CHECK(jailed_->child.wait(deadline));
  }
  unlink(spec_.own_root.c_str());
  if (network_) COVE_CHECK(network_->stop(deadline));
  return {};
}

}  // namespace cove::microvm
