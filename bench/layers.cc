#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "helpers/home.h"
#include "image/layer_reader.h"
#include "measures.h"
#include "os/remove_tree.h"
#include "record/snapshots.h"

namespace cove::bench {
namespace {

namespace fs = std::filesystem;
using testing_helpers::home;

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

void shell(const std::string& command) { spawn_and_wait({"/bin/sh", "-c", command}); }

// One layer of a root with busybox, and nineteen with a file each.
image::Image make_twenty_layers() {
  const std::string work = home().make_directory("twenty");
  image::Store store = must(image::Store::open(home().path()));
  image::Image image{.name = must(image::normal_name("bench/twenty")), .layers = {}};
  for (int i = 0; i < 20; ++i) {
    const std::string root = work + "/" + std::to_string(i);
    shell("mkdir -p " + root + "/bin && echo " + std::to_string(i) + " >" + root + "/f" + std::to_string(i));
    if (i == 0)
      shell("cp /bin/bash " + root + "/bin/ && cd / && cp --parents $(ldd /bin/bash | grep -o '/[^ ]*') " + root);
    shell("tar -C " + root + " -cf " + root + ".tar .");
    const UniqueFd tar(open((root + ".tar").c_str(), O_RDONLY | O_CLOEXEC));
    const auto source = image::source_of_fd(tar.get());
    image.layers.push_back(must(image::add_layer(store, *source, {})).diff_id);
  }
  must(store.put(image));
  return image;
}

double timed(const std::function<void()>& what) {
  const auto begin = Clock::now();
  what();
  return Milliseconds(Clock::now() - begin).count();
}

Row create_of_twenty_layers(Effort effort) {
  const image::Image image = make_twenty_layers();
  SandboxSpec many = native_spec();
  many.image = image.name;
  Samples host, layered;
  for (int i = 0; i < effort.times(100); ++i) {
    for (const bool of_host : {true, false}) {
      pause_between();
      std::optional<Sandbox> sandbox;
      SandboxSpec spec = of_host ? native_spec() : many;
      spec.name.clear();
      (of_host ? host : layered).time([&] {
        sandbox = make_sandbox(spec);
        run_true(*sandbox);
      });
    }
  }
  return row("create and first command, image of 20 layers", layered, "image host", host.p50(), at_most(1.5));
}

// What a command costs more when its changes get a layer of their own: with the pause that an agent makes, and for the
// next command, which waits for it, without.
std::vector<Row> checkpoint_overhead(Effort effort) {
  Sandbox plain = make_sandbox(native_spec());
  SandboxSpec spec = native_spec();
  spec.name = "checkpointed";
  spec.checkpoint = true;
  Sandbox kept = make_sandbox(spec);
  Samples without, with, twice_without, twice_with;
  const auto change = [](Sandbox& sandbox) { must(sandbox.sh("echo $RANDOM >f")); };
  const auto change_twice = [](Sandbox& sandbox) {
    must(sandbox.sh("echo $RANDOM >f"));
    must(sandbox.sh("echo $RANDOM >g"));
  };
  for (int i = 0; i < effort.times(200); ++i) {
    pause_between();
    without.time([&] { change(plain); });
    pause_between();
    with.time([&] { change(kept); });
    pause_between();
    twice_without.time([&] { change_twice(plain); });
    pause_between();
    twice_with.time([&] { change_twice(kept); });
  }
  return {{"checkpoint of a command that changed a file", with.p50() - without.p50(), "ms", "", 0, at_most(2)},
          {"the same, and another command at once", twice_with.p50() - twice_without.p50(), "ms", "", 0, {}}};
}

std::vector<Row> snapshot_and_fork(Effort effort) {
  Sandbox sandbox = make_sandbox(native_spec());
  must(sandbox.sh("head -c 1073741824 /dev/zero >big"));
  Samples snapshot, fork;
  for (int i = 0; i < effort.times(50); ++i) {
    must(sandbox.sh("echo $RANDOM >f"));
    pause_between();
    const std::string tag = "s" + std::to_string(i);
    snapshot.time([&] { must(sandbox.snapshot(tag)); });
    pause_between();
    std::vector<Sandbox> forks;
    fork.time([&] { forks = must(sandbox.fork(1)); });
    must(record::remove_snapshot(tag));
  }
  Row one = row("snapshot of a sandbox with 1 GiB of changes", snapshot), other = row("fork of the same", fork);
  one.promise = at_most(20);
  other.promise = at_most(10);
  return {one, other};
}

Row unpack(const std::string& kind, const std::string& archive) {
  const std::string target = home().make_directory("unpacked-" + kind);
  Samples ours, theirs;
  for (int i = 0; i < 5; ++i) {
    shell("rm -rf " + target + " && mkdir " + target + " && sync");
    theirs.add(Milliseconds(timed([&] { shell("tar -C " + target + " -xf " + archive + " && sync -f " + target); })));
    image::Store store = must(image::Store::open(home().path()));
    const UniqueFd file(open(archive.c_str(), O_RDONLY | O_CLOEXEC));
    const auto source = image::source_of_fd(file.get());
    shell("sync");
    ours.add(Milliseconds(timed([&] { must(image::add_layer(store, *source, {})); })));
    must(store.prune({}));
  }
  shell("rm -rf " + target);
  return row("unpack a layer, " + kind, ours, "tar -x and sync", theirs.p50(), at_most(1.25));
}

}  // namespace

std::vector<Row> layers(Effort effort) {
  std::vector<Row> rows = snapshot_and_fork(effort);
  for (Row& row : checkpoint_overhead(effort)) rows.push_back(std::move(row));
  rows.push_back(create_of_twenty_layers(effort));
  return rows;
}

std::vector<Row> unpacking(Effort) {
  fs::create_directories(home().path());  // nobody has made a sandbox yet if this is all that is measured
  const std::string work = home().make_directory("archives");
  std::vector<Row> rows;
  shell("tar -C /usr/lib -cf " + work + "/layer.tar python3.11");
  shell("cd " + work + " && gzip -1k layer.tar && zstd -q -3 layer.tar");
  rows.push_back(unpack("gzip", work + "/layer.tar.gz"));
  rows.push_back(unpack("zstd", work + "/layer.tar.zst"));
  fs::remove_all(work);
  return rows;
}

}  // namespace cove::bench
