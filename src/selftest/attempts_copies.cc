// Files moved by us for the caller: symlinks and archives made inside must not lead the mover to the host's files.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kCopiesGroup = "escape by symlinks and archives";

// Links to the bait, made inside: `link` to the file and `door` to its directory.
struct Trap {
  Inside* place = nullptr;
  std::string link, door;
};

Result<Trap> lay(Stage& stage) {
  COVE_TRY(Inside * place, stage.inside());
  const std::string& own = stage.bait().own();
  Trap trap{place, place->directory() + "/link", place->directory() + "/door"};
  const Ran ran = stage.shell("ln -sfn " + session::quote(own + "/secret") + " link && ln -sfn " + session::quote(own) +
                              " door && echo laid");
  if (ran.output != "laid\n") return fail(Errc::internal, "no links can be made inside: " + ran.output + ran.trouble);
  return trap;
}

Verdict no_trap(const Error& error) { return broken("could not be tried: " + error.text()); }

// Where copies out of the sandbox go: a fresh name on the host.
std::string target(Stage& stage, const std::string& name) { return stage.bait().own() + "/out-" + name; }

Verdict copied(Stage& stage, const std::string& inside, const std::string& name) {
  auto place = stage.inside();
  if (!place) return no_trap(place.error());
  const std::string to = target(stage, name);
  const auto done = (*place)->sandbox().copy_out(inside, to, stage.call());
  // A link that comes out as a link is what it was inside; only a file with the secret is the host's.
  if (!fs::is_symlink(fs::symlink_status(to)) && host_content(to).find(stage.bait().secret()) != std::string::npos)
    return broken("the copy has the host's secret in it");
  return held(done ? "the copy is not the host's file" : done.error().message);
}

Verdict copy_link(Stage& stage) {
  const auto trap = lay(stage);
  return trap ? copied(stage, trap->link, "link") : no_trap(trap.error());
}

Verdict copy_by_door(Stage& stage) {
  const auto trap = lay(stage);
  return trap ? copied(stage, trap->door + "/secret", "door") : no_trap(trap.error());
}

Verdict read_link(Stage& stage) {
  const auto trap = lay(stage);
  if (!trap) return no_trap(trap.error());
  const auto content = trap->place->sandbox().read_file(trap->link, stage.call());
  if (content && content->find(stage.bait().secret()) != std::string::npos) return broken("the host's secret came out");
  return held(content ? "another file" : content.error().message);
}

Verdict appeared(Stage& stage, const std::string& name, const Result<void>& done) {
  const std::string path = stage.bait().own() + "/" + name;
  const bool there = access(path.c_str(), F_OK) == 0;
  return there ? broken("made " + path + " on the host") : held(done ? "it stayed inside" : done.error().message);
}

Verdict copy_in(Stage& stage) {
  const auto trap = lay(stage);
  if (!trap) return no_trap(trap.error());
  const auto done = trap->place->sandbox().copy_in(stage.bait().own() + "/secret", trap->door + "/in", stage.call());
  return appeared(stage, "in", done ? Result<void>() : Result<void>(fail(done.error())));
}

Verdict write_in(Stage& stage) {
  const auto trap = lay(stage);
  if (!trap) return no_trap(trap.error());
  return appeared(stage, "written",
                  trap->place->sandbox().write_file(trap->door + "/written", "x", 0644, stage.call()));
}

Verdict move_in(Stage& stage) {
  const auto trap = lay(stage);
  if (!trap) return no_trap(trap.error());
  stage.shell("echo x >movable");
  const std::string from = trap->place->directory() + "/movable";
  return appeared(stage, "moved", trap->place->sandbox().move_file(from, trap->door + "/moved", stage.call()));
}

Verdict remove_by_door(Stage& stage) {
  const auto trap = lay(stage);
  const std::string victim = stage.bait().own() + "/victim";
  if (auto laid = stage.bait().put(victim, 0644); !trap || !laid) return broken("could not be tried: no bait");
  const auto done = trap->place->sandbox().remove_file(trap->door + "/victim", stage.call());
  if (access(victim.c_str(), F_OK) < 0) return broken("a file of the host was removed");
  return held(done ? "it removed something else" : done.error().message);
}

// An archive with an absolute path in it, unpacked by a tool that does not mind.
Verdict unpack(Stage& stage) {
  const std::string path = stage.bait().own() + "/unpacked";
  const Ran ran =
      stage.shell("echo x >unpacked && tar -cPf a.tar --transform 's,.*," + path + ",' unpacked && tar -xPf a.tar");
  return judge_outside(ran, access(path.c_str(), F_OK) == 0, "an archive was unpacked to the host");
}

// What comes out of a sandbox has no rights and no effects.
Verdict copy_special(Stage& stage) {
  auto place = stage.inside();
  if (!place) return no_trap(place.error());
  const Ran ran = stage.shell("mkdir -p special && cd special && mkfifo pipe; echo x >setuid && chmod 6755 setuid; ls");
  if (ran.output.find("setuid") == std::string::npos) return broken("could not be tried: " + clean_line(ran.output));
  const std::string to = target(stage, "special");
  const auto done = (*place)->sandbox().copy_out((*place)->directory() + "/special", to, stage.call());
  if (!done) return broken("could not be tried: " + done.error().text());
  struct stat info{};
  if (lstat((to + "/setuid").c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0)
    return broken("a setuid file came out");
  if (lstat((to + "/pipe").c_str(), &info) == 0) return broken("a pipe came out");
  return held("only plain files came out");
}

constexpr Attempt kCopiesAttempts[] = {
    {"copy_out_link", kCopiesGroup, "copy a link to a host file out of the sandbox", {}, copy_link},
    {"copy_out_through_link", kCopiesGroup, "copy a file out by a linked directory", {}, copy_by_door},
    {"read_through_link", kCopiesGroup, "have a link to a host file read for the caller", {}, read_link},
    {"copy_in_through_link", kCopiesGroup, "have a copy written by a linked directory", {}, copy_in},
    {"write_through_link", kCopiesGroup, "have a file written by a linked directory", {}, write_in},
    {"move_through_link", kCopiesGroup, "have a file moved by a linked directory", {}, move_in},
    {"remove_through_link", kCopiesGroup, "have a file removed by a linked directory", {}, remove_by_door},
    {"copy_out_special", kCopiesGroup, "bring setuid bits and pipes out of the sandbox", {}, copy_special},
    {"unpack_absolute", kCopiesGroup, "unpack an archive with an absolute path in it", {}, unpack},
};

}  // namespace

std::span<const Attempt> copy_attempts() { return kCopiesAttempts; }

}  // namespace cove::selftest
