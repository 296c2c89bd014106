#pragma once

// One machine: a QEMU in its jail, orders to it, and the guest's two ports.

#include <optional>
#include <string>

#include "backend/backend.h"
#include "backend/microvm/boot_files.h"
#include "backend/microvm/jail.h"
#include "backend/microvm/line.h"
#include "backend/microvm/qmp.h"
#include "backend/native/network.h"
#include "proto/frame.h"
#include "proto/machine.h"

namespace cove::microvm {

struct VmSpec {
  Shape shape;
  Accel accel;
  std::string qemu;      // the program
  std::string cache;     // where others look for memory that they could share
  BootFiles boot;        // unused where it goes on from its memory
  std::string root;      // the image of its root
  std::string own_root;  // where a link to it is kept, so that it can be saved when others have forgotten it
  std::string disk;      // the sandbox's own; "" if it has none
  std::optional<native::NetworkSetup> network;
};

// Which memory fits which machine.
std::string fitting(const VmSpec& spec);

class Vm {
 public:
  // On its way when it returns.
  static Result<Vm> boot(const VmSpec& spec, const os::Users& users, const os::LimitGroup& limits, Deadline deadline);
  // From a directory that save() has filled. The machine must fit; its disk is made anew.
  static Result<Vm> restore(VmSpec spec, const std::string& saved, const os::Users& users, const os::LimitGroup& limits,
                            Deadline deadline);

  // Waits until its guest is there and has warmed up. An error says why it will never be.
  Result<void> await_ready(Deadline deadline);
  // A new stream to the guest, after it was told who it is.
  Result<Channel> open_stream(const proto::Renew& renew, Deadline deadline);
  Result<void> stop(Deadline deadline);
  Result<void> go_on(Deadline deadline);
  // All of it, into a directory that is there and empty. It is stopped meanwhile.
  Result<void> save(const std::string& directory, Deadline deadline);
  // A directory of this machine becomes one inside, and the other way round; what is there stays unless it is in the
  // way. Everything belongs to root inside, and here to whoever calls.
  // A volume is in the machine's memory, half of which it may take.
  std::uint64_t room_for_volume() const { return (spec_.shape.memory_mib << 20U) / 2; }
  Result<void> make_volume(const proto::MachineVolume& volume, Deadline deadline);
  Result<void> put_tree(const std::string& from, const std::string& inside, Deadline deadline);
  Result<void> get_tree(const std::string& inside, const std::string& into, Deadline deadline);
  // What is written inside is on the disk afterwards.
  Result<void> sync(Deadline deadline);

  int gone_fd() const { return jailed_->child.pidfd(); }
  // Why it is gone, or why it never was.
  Error why_gone();
  Result<void> end(Deadline deadline);

 private:
  struct Ends;
  Vm() = default;
  static Result<Vm> launch(VmSpec spec, Begin begin, int ram, const os::Users& users, const os::LimitGroup& limits,
                           Deadline deadline);
  Result<void> load_state(const std::string& path, Deadline deadline);
  Result<void> save_stopped(const std::string& directory, Deadline deadline);
  Result<void> ask(proto::MachineType type, std::string_view payload, Deadline deadline);
  Result<void> tell(proto::MachineType type, std::string_view payload);
  Result<void> hear(proto::MachineType type, Deadline deadline);
  Result<void> read_mark(const std::string& mark, Deadline deadline);

  VmSpec spec_;
  JailPlan plan_;
  std::optional<Jailed> jailed_;
  std::optional<native::Network> network_;
  Qmp qmp_;
  UniqueFd channel_, control_, files_, console_, ram_;
  proto::MessageReader control_reader_;
  std::string said_;  // by the kernel
  bool shares_ram_ = true, stopped_ = false;
  bool files_lost_ = false;  // a transfer broke off: nobody knows what comes next by their port
};

}  // namespace cove::microvm
