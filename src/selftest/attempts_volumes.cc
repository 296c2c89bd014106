// Directories of the host that were given to the sandbox: what lies beside them was not.

#include <sys/stat.h>
#include <unistd.h>

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kVolumesGroup = "escape by volumes";

// The backend has none and shows none of the host's directories either.
Verdict no_volumes(const Error& error) {
  if (error.code == Errc::unsupported) return not_applicable("there are no volumes: " + error.message);
  return broken("could not be tried: " + error.text());
}

template <Verdict (*Try)(Stage&, Stage::Volumes&)>
Verdict with_volumes(Stage& stage) {
  auto volumes = stage.volumes();
  if (!volumes) return no_volumes(volumes.error());
  return Try(stage, **volumes);
}

// What was written to the frozen file is seen on the host; the file is as it was for the next attempt.
Verdict judge_frozen(Stage& stage, const Ran& ran, const std::string& what) {
  const std::string path = stage.frozen() + "/file";
  struct stat info{};
  const bool changed = host_content(path) != stage.bait().secret() + "\n" || stat(path.c_str(), &info) < 0 ||
                       (info.st_mode & 07777) != 0644;
  if (changed) [[maybe_unused]]
    const auto again = stage.bait().put(path, 0644);
  return judge_outside(ran, changed, what);
}

Verdict write_frozen(Stage& stage, Stage::Volumes& volumes) {
  const Ran ran = volumes.inside.shell("echo changed >" + session::quote(volumes.frozen + "/file"), stage.call());
  return judge_frozen(stage, ran, "a read-only volume was written to");
}

Verdict reopen(Stage& stage, Stage::Volumes& volumes) {
  return judge_frozen(stage, volumes.inside.act({"reopen", volumes.frozen + "/file"}, stage.call()),
                      "a read-only volume was written to by a descriptor");
}

Verdict metadata(Stage& stage, Stage::Volumes& volumes) {
  return judge_frozen(stage, volumes.inside.act({"metadata", volumes.frozen + "/file"}, stage.call()),
                      "modes on a read-only volume were changed");
}

Verdict hard_link(Stage& stage, Stage::Volumes& volumes) {
  const Ran ran =
      volumes.inside.act({"link_and_write", volumes.frozen + "/file", volumes.writable + "/linked"}, stage.call());
  return judge_frozen(stage, ran, "a read-only file was written to by a link on a writable volume");
}

Verdict dirty_pipe(Stage& stage, Stage::Volumes& volumes) {
  return judge_frozen(stage, volumes.inside.act({"dirty_pipe", volumes.frozen + "/file"}, stage.call()),
                      "a read-only file was written to by a pipe");
}

Verdict dirty_cow(Stage& stage, Stage::Volumes& volumes) {
  return judge_frozen(stage, volumes.inside.act({"dirty_cow", volumes.frozen + "/file"}, stage.call()),
                      "a read-only file was written to by a race");
}

Verdict remount(Stage& stage, Stage::Volumes& volumes) {
  const Ran ran = volumes.inside.shell("mount -o remount,bind,rw " + session::quote(volumes.frozen) +
                                           " 2>&1; echo x >" + session::quote(volumes.frozen + "/remounted"),
                                       stage.call());
  return judge_outside(ran, access((stage.frozen() + "/remounted").c_str(), F_OK) == 0,
                       "a file was made on a read-only volume");
}

Verdict dots(Stage& stage, Stage::Volumes& volumes) {
  return judge_secret(volumes.inside.shell("cat " + session::quote(volumes.writable + "/../secret"), stage.call()),
                      stage.bait().secret());
}

Verdict link_out(Stage& stage, Stage::Volumes& volumes) {
  const std::string link = volumes.writable + "/way-out";
  const Ran ran = volumes.inside.shell("ln -sfn " + session::quote(stage.bait().own() + "/secret") + " " +
                                           session::quote(link) + "; cat " + session::quote(link),
                                       stage.call());
  return judge_secret(ran, stage.bait().secret());
}

// A sandbox whose volume is `source`, which leads to the bait by a symlink. It must not come to be.
Verdict given(Stage& stage, const Stage::Volumes& volumes, const std::string& source) {
  SandboxSpec spec = stage.spec();
  if (volumes.real) spec.volumes = {source + ":/selftest/swapped"};
  auto place = stage.make(spec);
  if (!place) return held(place.error().message);
  const std::string inside = volumes.real ? "/selftest/swapped" : source;
  const Ran ran = place->shell("cat " + session::quote(inside + "/secret"), stage.call());
  return judge_secret(ran, stage.bait().secret());
}

// Put there by whoever owns the host's directory.
Verdict linked_source(Stage& stage, Stage::Volumes& volumes) {
  const std::string link = stage.shelf() + "/linked-source";
  if (symlink(stage.bait().own().c_str(), link.c_str()) < 0) return broken("could not be tried: no symlink");
  return given(stage, volumes, link);
}

// Put there by a sandbox to which the directory above was given.
Verdict swapped_source(Stage& stage, Stage::Volumes& volumes) {
  const Ran ran = volumes.inside.shell(
      "ln -sfn " + session::quote(stage.bait().own()) + " " + session::quote(volumes.writable + "/swapped"),
      stage.call());
  if (auto verdict = untried(ran)) return *verdict;
  const std::string source = stage.volume() + "/swapped";
  struct stat info{};
  if (lstat(source.c_str(), &info) < 0)
    return not_applicable("nothing can be made on a volume: " + clean_line(ran.output));
  return given(stage, volumes, source);
}

Verdict setuid(Stage& stage, Stage::Volumes& volumes) {
  return judge(volumes.inside.act({"setuid_program", volumes.writable}, stage.call()));
}

Verdict device(Stage& stage, Stage::Volumes& volumes) {
  return judge(volumes.inside.act({"device_node", volumes.writable, "block", "7", "0"}, stage.call()));
}

constexpr Attempt kVolumesAttempts[] = {
    {"write_read_only_volume", kVolumesGroup, "write to a read-only volume", {}, with_volumes<write_frozen>},
    {"reopen_read_only_file",
     kVolumesGroup,
     "write to it by a descriptor opened for reading",
     {},
     with_volumes<reopen>},
    {"change_read_only_modes", kVolumesGroup, "change modes on a read-only volume", {}, with_volumes<metadata>},
    {"link_read_only_file", kVolumesGroup, "write to it by a link on a writable volume", {}, with_volumes<hard_link>},
    {"remount_volume", kVolumesGroup, "make a read-only volume writable", {}, with_volumes<remount>},
    {"dirty_pipe", kVolumesGroup, "write to a read-only file by a pipe (CVE-2022-0847)", {}, with_volumes<dirty_pipe>},
    {"dirty_cow", kVolumesGroup, "write to a read-only file by a race (CVE-2016-5195)", {}, with_volumes<dirty_cow>},
    {"volume_parent", kVolumesGroup, "climb out of a volume by ..", {}, with_volumes<dots>},
    {"link_in_volume", kVolumesGroup, "follow a link on a volume to the host", {}, with_volumes<link_out>},
    {"linked_source", kVolumesGroup, "get a volume whose source is a symlink", {}, with_volumes<linked_source>},
    {"swapped_source",
     kVolumesGroup,
     "get a volume whose source a sandbox has swapped",
     {},
     with_volumes<swapped_source>},
    {"setuid_on_volume", kVolumesGroup, "become root by a setuid program on a volume", {}, with_volumes<setuid>},
    {"device_on_volume", kVolumesGroup, "make a device on a volume and open it", {}, with_volumes<device>},
};

}  // namespace

std::span<const Attempt> volume_attempts() { return kVolumesAttempts; }

}  // namespace cove::selftest
