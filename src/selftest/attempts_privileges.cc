// Ways to more rights.

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kPrivilegesGroup = "gain privileges";

// With the sandbox's own directory as the argument.
template <const char* Act>
Verdict in_own_directory(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  return stage.tried({Act, (*place)->directory()});
}

constexpr char kCore[] = "dump_core";

// In /tmp, because another user must find the way to it.
Verdict setuid_program(Stage& stage) { return stage.tried({"setuid_program", "/tmp"}); }
Verdict file_capabilities(Stage& stage) { return stage.tried({"file_capabilities", "/tmp"}); }

Verdict chroot_escape(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  return judge_secret(stage.act({"chroot_escape", (*place)->directory(), stage.bait().own() + "/secret"}),
                      stage.bait().secret());
}

// A file made inside by root must not be root's on the host.
Verdict own_as_root(Stage& stage) { return stage.tried({"root_of_host"}); }

constexpr Attempt kPrivilegesAttempts[] = {
    {"no_new_privs", kPrivilegesGroup, "be allowed to gain rights by exec", "no_new_privs"},
    {"seccomp_filter", kPrivilegesGroup, "run without a filter of system calls", "seccomp"},
    {"capabilities", kPrivilegesGroup, "have capabilities that reach beyond files", "dangerous_capabilities"},
    {"setuid_program", kPrivilegesGroup, "become root again by a setuid program", {}, setuid_program},
    {"file_capabilities", kPrivilegesGroup, "gain capabilities by a program's file", {}, file_capabilities},
    {"chroot_escape", kPrivilegesGroup, "walk out of a chroot", {}, chroot_escape},
    {"root_of_host", kPrivilegesGroup, "be the host's root", {}, own_as_root},
    {"dump_core",
     kPrivilegesGroup,
     "have the kernel write a core, or start who handles it",
     {},
     in_own_directory<kCore>},
};

}  // namespace

std::span<const Attempt> privilege_attempts() { return kPrivilegesAttempts; }

}  // namespace cove::selftest
