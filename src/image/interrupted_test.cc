// A store that is interrupted, or runs out of room.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <csignal>
#include <random>

#include "image/archives.h"
#include "image/digest.h"
#include "image/test_tar.h"

namespace cove::image {
namespace {

std::string many_files() {
  TarText tar;
  for (int i = 0; i < 400; ++i)
    tar.file("d" + std::to_string(i % 20) + "/f" + std::to_string(i), std::string(3000, 'x'));
  return tar.end();
}

// Every layer that has a name is whole.
void expect_consistent(const Store& store, const std::string& diff_id) {
  for (const auto& entry : std::filesystem::directory_iterator(store.path() + "/layers")) {
    const std::string name = entry.path().filename();
    if (name.starts_with(".new-")) continue;
    EXPECT_EQ("sha256:" + name, diff_id);
    ASSERT_TRUE(store.layer(diff_id));
    std::size_t files = 0;
    for (const auto& below : std::filesystem::recursive_directory_iterator(store.layer_path(diff_id)))
      files += below.is_regular_file() && below.file_size() == 3000 ? 1 : 0;
    EXPECT_EQ(files, 400U);
  }
}

TEST(InterruptedStore, IsConsistentWhereverTheProcessIsKilled) {
  const TestHome home;
  const std::string bytes = many_files(), packed = gzipped(bytes), diff_id = sha256_of(bytes);
  Store store = *Store::open(home.home());
  std::minstd_rand random(4);
  int killed = 0;
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (auto layer = add(store, packed, {.expected_diff_id = diff_id}))
        _exit(store.put({.name = *normal_name("x"), .layers = {diff_id}}) ? 0 : 1);
      _exit(1);
    }
    usleep(random() % 30'000);  // no synchronisation: the moment is meant to be any
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    expect_consistent(store, diff_id);
    const auto images = store.list();
    ASSERT_TRUE(images);
    for (const Image& image : *images) EXPECT_TRUE(store.has_layer(image.layers[0]));
    if (round % 10 == 9) {
      ASSERT_TRUE(*store.find("x") ? store.remove("x") : Result<void>());
      const auto pruned = store.prune({});
      ASSERT_TRUE(pruned) << pruned.error().text();
      EXPECT_TRUE(std::filesystem::is_empty(store.path() + "/layers"));
    }
  }
  EXPECT_GT(killed, 0);
}

TEST(InterruptedStore, TwoProcessesShareTheWork) {
  const TestHome home;
  const std::string bytes = many_files(), diff_id = sha256_of(bytes);
  Store store = *Store::open(home.home());
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(add(store, bytes, {.expected_diff_id = diff_id}) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  expect_consistent(store, diff_id);
  EXPECT_EQ(store.prune({diff_id})->leftovers, 0U);
}

// On a file system of one mebibyte, in a mount namespace of its own.
int fill_small_disk(const std::string& home) {
  if (unshare(CLONE_NEWNS) < 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return 77;
  if (mount("small", home.c_str(), "tmpfs", 0, "size=1m,mode=0700") < 0) return 77;
  auto store = Store::open(home);
  if (!store) return 2;
  const auto layer = add(*store, many_files());
  if (layer || layer.error().message.find("No space left") == std::string::npos) return 3;
  if (!std::filesystem::is_empty(store->path() + "/layers") || !store->list()->empty()) return 4;
  TextSource tar(TarText().file("f").end());
  return import_tar(*store, tar, {.name = "small"}) ? 0 : 5;  // and what fits still fits
}

TEST(InterruptedStore, AFullDiskIsAClearErrorAndLeavesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const TestHome home;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(fill_small_disk(home.home()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot mount here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cove::image
