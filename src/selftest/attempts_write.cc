// Changes to the host's files. What counts is what the host sees afterwards.

#include <sys/stat.h>
#include <unistd.h>

#include "record/home.h"
#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kWriteGroup = "write host files";

// Makes a file of a name that exists nowhere; on the host it must not appear.
Verdict plant(Stage& stage, const std::string& directory) {
  const std::string path = directory + "/cove-selftest-planted-" + stage.bait().token();
  stage.bait().forget_later(path);
  const Ran ran = stage.shell("echo x >" + session::quote(path));
  return judge_outside(ran, access(path.c_str(), F_OK) == 0, "made " + path + " on the host");
}

Verdict plant_tmp(Stage& stage) { return plant(stage, "/tmp"); }
Verdict plant_etc(Stage& stage) { return plant(stage, "/etc"); }
Verdict plant_bin(Stage& stage) { return plant(stage, "/usr/local/bin"); }
Verdict plant_shm(Stage& stage) { return plant(stage, "/dev/shm"); }
Verdict plant_root(Stage& stage) { return plant(stage, ""); }
Verdict plant_var_tmp(Stage& stage) { return plant(stage, "/var/tmp"); }

Verdict plant_home(Stage& stage) {
  if (stage.bait().home().empty()) return not_applicable("the user has no home that can be written to");
  return plant(stage, stage.bait().home());
}

Verdict plant_record(Stage& stage) {
  const auto home = record::home();
  auto place = stage.inside();
  if (!home || !place) return broken("could not be tried: no record");
  return plant(stage, *home + "/sandboxes/" + (*place)->sandbox().name());
}

// A bait of its own for each, so that one attempt does not spoil the next.
struct Target {
  std::string path;
  bool changed(const Bait& bait) const { return host_content(path) != bait.secret() + "\n"; }
};

Target make_target(Stage& stage, const std::string& name) {
  Target target{stage.bait().own() + "/" + name};
  [[maybe_unused]] const auto laid = stage.bait().put(target.path, 0644);
  return target;
}

Verdict overwrite(Stage& stage) {
  const Target target = make_target(stage, "overwrite");
  const Ran ran = stage.shell("echo changed >" + session::quote(target.path));
  return judge_outside(ran, target.changed(stage.bait()), "the host's file was overwritten");
}

Verdict remove(Stage& stage) {
  const Target target = make_target(stage, "remove");
  const Ran ran = stage.shell("rm " + session::quote(target.path));
  return judge_outside(ran, access(target.path.c_str(), F_OK) < 0, "the host's file was removed");
}

Verdict change_mode(Stage& stage) {
  const Target target = make_target(stage, "mode");
  const Ran ran = stage.shell("chmod 601 " + session::quote(target.path));
  struct stat info{};
  const bool changed = stat(target.path.c_str(), &info) == 0 && (info.st_mode & 07777) != 0644;
  return judge_outside(ran, changed, "the mode of the host's file was changed");
}

Verdict hard_link(Stage& stage) {
  const Target target = make_target(stage, "linked");
  const Ran ran = stage.shell("ln " + session::quote(target.path) + " linked-" + stage.bait().token());
  struct stat info{};
  const bool linked = stat(target.path.c_str(), &info) == 0 && info.st_nlink > 1;
  return judge_outside(ran, linked, "the host's file has a second name inside");
}

Verdict rename_over(Stage& stage) {
  const Target target = make_target(stage, "renamed");
  const Ran ran = stage.shell("echo changed >new && mv -f new " + session::quote(target.path));
  return judge_outside(ran, target.changed(stage.bait()), "the host's file was replaced");
}

Verdict system_program(Stage& stage) {
  struct stat before{}, after{};
  const std::string path = "/usr/bin/env";
  if (stat(path.c_str(), &before) < 0) return not_applicable("the host has no " + path);
  // The times are set to what they are: nothing is changed but the moment of the last change.
  const Ran ran = stage.shell("touch -r " + path + " " + path);
  const bool changed = stat(path.c_str(), &after) == 0 && (before.st_ctim.tv_sec != after.st_ctim.tv_sec ||
                                                           before.st_ctim.tv_nsec != after.st_ctim.tv_nsec);
  return judge_outside(ran, changed, "a program of the host was touched");
}

constexpr Attempt kWriteAttempts[] = {
    {"plant_in_tmp", kWriteGroup, "make a file in the host's /tmp", {}, plant_tmp},
    {"plant_in_var_tmp", kWriteGroup, "make a file in the host's /var/tmp", {}, plant_var_tmp},
    {"plant_in_shm", kWriteGroup, "make a file in the host's /dev/shm", {}, plant_shm},
    {"plant_in_home", kWriteGroup, "make a file in the user's home", {}, plant_home},
    {"plant_in_etc", kWriteGroup, "make a file in the host's /etc", {}, plant_etc},
    {"plant_in_bin", kWriteGroup, "make a program in the host's /usr/local/bin", {}, plant_bin},
    {"plant_in_root", kWriteGroup, "make a file in the host's root directory", {}, plant_root},
    {"plant_in_record",
     kWriteGroup,
     "make a file in the directory from which this sandbox is governed",
     {},
     plant_record},
    {"overwrite_file", kWriteGroup, "overwrite a file of the host", {}, overwrite},
    {"replace_file", kWriteGroup, "rename a file over one of the host", {}, rename_over},
    {"remove_file", kWriteGroup, "remove a file of the host", {}, remove},
    {"change_mode", kWriteGroup, "change the mode of a file of the host", {}, change_mode},
    {"hard_link_file", kWriteGroup, "give a file of the host a second name inside", {}, hard_link},
    {"touch_system_program", kWriteGroup, "touch a program that the host runs", {}, system_program},
};

}  // namespace

std::span<const Attempt> write_attempts() { return kWriteAttempts; }

}  // namespace cove::selftest
