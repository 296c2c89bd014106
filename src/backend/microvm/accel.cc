#include "backend/microvm/accel.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "backend/microvm/files.h"
#include "base/json_text.h"
#include "os/cgroup_layout.h"
#include "os/child.h"
#include "os/clone.h"

namespace cove::microvm {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

// Of the processor's time, not of the clock's: a machine that is busy interprets nothing. The clock ends what waits.
constexpr std::int64_t kLimitNs = 300'000'000;
constexpr auto kLongestProbe = 5s;
// Time and turns of each trial, as multiples. KVM's first machine since the boot costs more than later ones, and where
// its host is itself a machine others may take the time: executed, four times the turns cost hardly more; interpreted,
// four times as much.
constexpr std::array<std::uint32_t, 3> kTrials{1, 4, 4};
constexpr std::uint32_t kTurns = 1'000'000;
constexpr std::size_t kMemory = std::size_t{2} << 20;
constexpr std::size_t kCode = 0x1000, kTables = 0x10000;

// movd xmm0,ecx; paddd xmm0,xmm0: no emulator of a kernel has them. mov ecx,TURNS; dec ecx; jnz: about a millisecond
// when it is executed, seconds when it is interpreted. mov al,'K'; out 0xe9,al; hlt
constexpr std::array<unsigned char, 22> kProgram{0x66, 0x0f, 0x6e, 0xc1, 0x66, 0x0f, 0xfe, 0xc0, 0xb9, 0,    0,
                                                 0,    0,    0xff, 0xc9, 0x75, 0xfc, 0xb0, 'K',  0xe6, 0xe9, 0xf4};

constexpr std::size_t kTurnsAt = 9;

struct Words {
  std::array<char, 200> text{};
};

// In a child, which is killed when it takes too long: a virtual processor that hangs cannot be asked to stop.
class Trial {
 public:
  Trial(Words& words, std::uint32_t turns) : words_(words), turns_(turns) {}

  void run() {
    const int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (kvm < 0) return say("/dev/kvm cannot be opened", errno);
    if (ioctl(kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION) return say("/dev/kvm speaks another version", 0);
    const int vm = ioctl(kvm, KVM_CREATE_VM, 0);
    if (vm < 0) return say("KVM makes no machine", errno);
    if (!give_memory(vm)) return say("KVM takes no memory", errno);
    const int cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
    if (cpu < 0) return say("KVM makes no processor", errno);
    const int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    run_ = size > 0 ? static_cast<kvm_run*>(
                          mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0))
                    : nullptr;
    if (run_ == nullptr || run_ == MAP_FAILED) return say("KVM shows no processor", errno);
    name_features(kvm, cpu);
    if (!enter_long_mode(cpu)) return say("KVM takes no 64-bit state", errno);
    execute(cpu);
  }

 private:
  void say(const char* what, int number) {
    std::snprintf(words_.text.data(), words_.text.size(), "%s%s%s", what, number != 0 ? ": " : "",
                  number != 0 ? std::strerror(number) : "");
  }

  bool give_memory(int vm) {
    memory_ =
        static_cast<unsigned char*>(mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) return false;
    std::memcpy(memory_ + kCode, kProgram.data(), kProgram.size());
    std::memcpy(memory_ + kCode + kTurnsAt, &turns_, sizeof(turns_));
    // One page of 2 MiB, at its own address.
    const std::array<std::uint64_t, 3> entries{kTables + 0x1003, kTables + 0x2003, 0x83};
    for (std::size_t i = 0; i < entries.size(); ++i)
      std::memcpy(memory_ + kTables + i * 0x1000, &entries[i], sizeof(entries[i]));
    kvm_userspace_memory_region region{};
    region.memory_size = kMemory;
    region.userspace_addr = reinterpret_cast<std::uint64_t>(memory_);
    if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0) return false;
    ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000UL);
    return true;
  }

  static void name_features(int kvm, int cpu) {
    constexpr std::size_t kMost = 256;
    alignas(kvm_cpuid2) static std::array<char, sizeof(kvm_cpuid2) + kMost * sizeof(kvm_cpuid_entry2)> bytes{};
    auto* all = reinterpret_cast<kvm_cpuid2*>(bytes.data());
    all->nent = kMost;
    if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, all) == 0) ioctl(cpu, KVM_SET_CPUID2, all);
  }

  static bool enter_long_mode(int cpu) {
    kvm_sregs special{};
    if (ioctl(cpu, KVM_GET_SREGS, &special) < 0) return false;
    kvm_segment code{};
    code.limit = ~0U;
    code.selector = 8;
    code.present = code.s = code.l = code.g = 1;
    code.type = 11;
    kvm_segment data = code;
    data.selector = 16;
    data.type = 3;
    data.l = 0;
    data.db = 1;
    special.cs = code;
    special.ds = special.es = special.fs = special.gs = special.ss = data;
    special.cr3 = kTables;
    special.cr4 = 0x620;       // PAE, OSFXSR, OSXMMEXCPT
    special.cr0 = 0x80050033;  // PG, AM, WP, NE, ET, MP, PE
    special.efer = 0x500;      // LME, LMA
    kvm_regs plain{};
    plain.rip = kCode;
    plain.rsp = 0x8000;
    plain.rflags = 2;
    return ioctl(cpu, KVM_SET_SREGS, &special) == 0 && ioctl(cpu, KVM_SET_REGS, &plain) == 0;
  }

  void execute(int cpu) {
    for (bool said = false;;) {
      if (ioctl(cpu, KVM_RUN, 0) < 0) {
        if (errno == EINTR || errno == EAGAIN) continue;
        return say("KVM does not run", errno);
      }
      if (run_->exit_reason == KVM_EXIT_IO && run_->io.port == 0xe9) {
        said = reinterpret_cast<const char*>(run_)[run_->io.data_offset] == 'K';
        continue;
      }
      if (run_->exit_reason == KVM_EXIT_HLT && said) return say("", 0);
      if (run_->exit_reason == KVM_EXIT_INTERNAL_ERROR && access("/sys/module/kvm_pvm", F_OK) == 0)
        return say("KVM is kvm_pvm here, software that does not run ordinary guests", 0);
      return say("KVM cannot execute ordinary 64-bit code", 0);
    }
  }

  Words& words_;
  std::uint32_t turns_;
  kvm_run* run_ = nullptr;
  unsigned char* memory_ = nullptr;
};

constexpr const char* kTooSlow = "KVM did not run 64-bit code to its end in 300 ms: it is interpreted, not executed";

// The end of this process when it has used its time; a virtual processor's is its process's.
void limit_processor_time(std::int64_t ns) {
  sigevent end{};
  end.sigev_notify = SIGEV_SIGNAL;
  end.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec when{};
  when.it_value = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &end, &timer) < 0 || timer_settime(timer, 0, &when, nullptr) < 0) _exit(1);
}

std::string try_kvm(Words& words, std::uint32_t times) {
  std::strcpy(words.text.data(), kTooSlow);
  auto cloned = os::clone_process(0);
  if (!cloned) return "no process could be made to try KVM";
  if (cloned->pid == 0) {
    limit_processor_time(kLimitNs * times);
    Trial(words, kTurns * times).run();
    _exit(0);
  }
  os::Child child = os::Child::adopt(cloned->pid, std::move(cloned->pidfd));
  if (!child.wait(Deadline::after(kLongestProbe))) {
    [[maybe_unused]] const auto sent = child.signal(SIGKILL);
    [[maybe_unused]] const auto reaped = child.wait(Deadline::after(2s));
  }
  words.text.back() = '\0';
  return words.text.data();
}

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// The kernel inside would otherwise measure it against a clock that TCG does not keep in time, and hang.
std::uint64_t measure_tsc_khz() {
  const std::uint64_t begin = monotonic_ns(), first = __rdtsc();
  usleep(150'000);
  const std::uint64_t end = monotonic_ns(), last = __rdtsc();
  return end > begin ? (last - first) * 1'000'000 / (end - begin) : 0;
}

std::string boot_id() { return os::read_text("/proc/sys/kernel/random/boot_id") + std::to_string(geteuid()); }

Accel probe(const std::string& cache) {
  const std::string path = cache + "/accel.json";
  const auto text = read_whole(path);
  const Json known = text ? parse_json(*text) : Json();
  if (known.is_object() && known.value("boot", Json()) == Json(boot_id()) && known.value("why", Json()).is_string() &&
      known.value("tsc_khz", Json()).is_number_unsigned()) {
    Accel accel{.kvm = false, .why = known["why"], .tsc_khz = known["tsc_khz"]};
    accel.kvm = accel.why.empty();
    return accel;
  }
  Accel accel{.kvm = false, .why = why_no_kvm(), .tsc_khz = measure_tsc_khz()};
  accel.kvm = accel.why.empty();
  const Json found{{"boot", boot_id()}, {"why", accel.why}, {"tsc_khz", accel.tsc_khz}};
  const std::string aside = path + std::to_string(getpid());
  if (write_whole(aside, json_text(found)) && rename(aside.c_str(), path.c_str()) < 0) unlink(aside.c_str());
  return accel;
}

// QEMU is nobody (jail.h), with one of root's groups.
bool open_to_root_alone() {
  struct stat info{};
  if (geteuid() != 0 || stat("/dev/kvm", &info) < 0) return false;
  return (info.st_mode & 0060) != 0060 && (info.st_mode & 0006) != 0006;
}

}  // namespace

std::string Accel::text() const {
  return kvm ? "kvm"
             : "tcg: code is translated, so that what needs the processor is an order of magnitude slower: " + why;
}

std::string why_no_kvm() {
  auto* words =
      static_cast<Words*>(mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (words == MAP_FAILED) return "there is no memory to try KVM";
  std::string why;
  for (const std::uint32_t times : kTrials) {
    why = try_kvm(*words, times);
    if (why != kTooSlow) break;
  }
  munmap(words, sizeof(Words));
  return why;
}

Result<Accel> choose_accel(const std::string& cache, const std::string& wanted) {
  if (!wanted.empty() && wanted != "auto" && wanted != "kvm" && wanted != "tcg")
    return fail(Errc::invalid, "--accel " + wanted + ": there are auto, kvm and tcg");
  Accel accel = probe(cache);
  if (accel.kvm && open_to_root_alone()) {
    accel.kvm = false;
    accel.why = "/dev/kvm is open to root alone, and QEMU is nobody here ('chmod 660 /dev/kvm' opens it to a group)";
  }
  if (wanted == "kvm" && !accel.kvm)
    return fail(Errc::unsupported, "--accel kvm: " + accel.why + "; --accel tcg works without it, slower");
  if (wanted == "tcg" && accel.kvm) {
    accel.kvm = false;
    accel.why = "it was asked for";
  }
  return accel;
}

}  // namespace cove::microvm
