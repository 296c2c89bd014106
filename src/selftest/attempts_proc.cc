// /proc, /sys and cgroups as ways out.

#include <unistd.h>

#include <filesystem>

#include "backend/guest_path.h"
#include "selftest/digest.h"
#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kProcGroup = "escape by /proc, /sys and cgroups";

// Where the host has no such file, nothing is shown by not reaching it.
template <const char* Path>
Verdict write_to(Stage& stage) {
  if (access(Path, F_OK) < 0) return not_applicable(std::string("the host has no ") + Path);
  return stage.tried({"open_for_writing", Path});
}

template <const char* Path>
Verdict read_from(Stage& stage) {
  if (access(Path, F_OK) < 0) return not_applicable(std::string("the host has no ") + Path);
  return stage.tried({"read_some", Path});
}

template <const char* Path>
Verdict list(Stage& stage) {
  std::error_code none;
  if (std::filesystem::is_empty(Path, none) || none)
    return not_applicable(std::string("the host has nothing in ") + Path);
  return stage.tried({"list_some", Path});
}

template <const char* Path>
Verdict write_below(Stage& stage) {
  if (access(Path, F_OK) < 0) return not_applicable(std::string("the host has no ") + Path);
  return stage.tried({"writable_below", Path});
}

constexpr char kSysrq[] = "/proc/sysrq-trigger", kCorePattern[] = "/proc/sys/kernel/core_pattern",
               kModprobe[] = "/proc/sys/kernel/modprobe", kUevent[] = "/sys/kernel/uevent_helper",
               kBinfmt[] = "/proc/sys/fs/binfmt_misc/register", kKcore[] = "/proc/kcore", kKeys[] = "/proc/keys",
               kTimers[] = "/proc/timer_list", kScsi[] = "/proc/scsi", kSys[] = "/proc/sys", kIrq[] = "/proc/irq",
               kBus[] = "/proc/bus", kSysfs[] = "/sys/kernel", kFirmware[] = "/sys/firmware", kKmsg[] = "/dev/kmsg",
               kAcpi[] = "/proc/acpi", kSched[] = "/proc/sched_debug";

// The act says "opened" only when it could write; in addition nothing may have changed on the host.
Verdict core_pattern(Stage& stage) {
  const std::string before = host_content(kCorePattern);
  Verdict verdict = write_to<kCorePattern>(stage);
  if (host_content(kCorePattern) != before) return broken("the host's core_pattern was changed");
  return verdict;
}

Verdict root_of_first(Stage& stage) {
  return judge_secret(stage.shell("cat " + session::quote("/proc/1/root" + stage.bait().own() + "/secret")),
                      stage.bait().secret());
}

Verdict overwrite_guest(Stage& stage) {
  const auto guest = find_guest();
  const std::string before = guest ? digest_of(host_content(*guest)) : "";
  Verdict verdict = stage.tried({"overwrite_program", "parent"});
  if (guest && digest_of(host_content(*guest)) != before) return broken("the guest's program on the host was changed");
  return verdict;
}

Verdict overwrite_first(Stage& stage) { return stage.tried({"overwrite_program", "1"}); }

Verdict walk_up(Stage& stage) {
  return judge_secret(stage.act({"walk_up", stage.bait().own().substr(1) + "/secret"}), stage.bait().secret());
}

constexpr Attempt kProcAttempts[] = {
    {"write_sysrq", kProcGroup, "open /proc/sysrq-trigger for writing", {}, write_to<kSysrq>},
    {"write_core_pattern", kProcGroup, "set the program that handles cores", {}, core_pattern},
    {"write_modprobe", kProcGroup, "set the program that loads modules", {}, write_to<kModprobe>},
    {"write_binfmt", kProcGroup, "register a format of programs", {}, write_to<kBinfmt>},
    {"write_uevent_helper", kProcGroup, "set the program that handles devices", {}, write_to<kUevent>},
    {"write_any_sysctl", kProcGroup, "open anything in /proc/sys for writing", {}, write_below<kSys>},
    {"write_irq", kProcGroup, "open anything in /proc/irq for writing", {}, write_below<kIrq>},
    {"write_bus", kProcGroup, "open anything in /proc/bus for writing", {}, write_below<kBus>},
    {"write_sysfs", kProcGroup, "open anything in /sys/kernel for writing", {}, write_below<kSysfs>},
    {"write_kernel_log", kProcGroup, "write to the kernel's log", {}, write_to<kKmsg>},
    {"read_kcore", kProcGroup, "read the kernel's memory", {}, read_from<kKcore>},
    {"read_keys", kProcGroup, "read /proc/keys", {}, read_from<kKeys>},
    {"read_timer_list", kProcGroup, "read /proc/timer_list", {}, read_from<kTimers>},
    {"read_sched_debug", kProcGroup, "read /proc/sched_debug", {}, read_from<kSched>},
    {"read_kernel_symbols", kProcGroup, "learn where the kernel is", "kernel_symbols"},
    {"list_scsi", kProcGroup, "look into /proc/scsi", {}, list<kScsi>},
    {"list_acpi", kProcGroup, "look into /proc/acpi", {}, list<kAcpi>},
    {"list_firmware", kProcGroup, "look into /sys/firmware", {}, list<kFirmware>},
    {"root_of_first_process", kProcGroup, "go through the root directory of process 1", {}, root_of_first},
    {"overwrite_guest", kProcGroup, "write to the guest's program by /proc (CVE-2019-5736)", {}, overwrite_guest},
    {"overwrite_first_process", kProcGroup, "write to the program of process 1 by /proc", {}, overwrite_first},
    {"walk_up_from_descriptors", kProcGroup, "walk up from what is open (CVE-2024-21626)", {}, walk_up},
    {"cgroup_release_agent", kProcGroup, "set the program that is run when a cgroup gets empty", "release_agent"},
    {"change_cgroup", kProcGroup, "move processes between cgroups", "change_cgroup"},
    {"escape_oom_killer", kProcGroup, "be spared when memory runs out", "spare_from_oom"},
};

}  // namespace

std::span<const Attempt> proc_attempts() { return kProcAttempts; }

}  // namespace cove::selftest
