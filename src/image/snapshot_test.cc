#include "image/snapshot.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "guest/tar.h"
#include "image/base64.h"
#include "image/files.h"
#include "image/snapshot_state.h"
#include "image/test_tar.h"
#include "os/users.h"

namespace cove::image {
namespace {

namespace fs = std::filesystem;

class SnapshotArchives : public testing::Test {
 protected:
  SnapshotArchives() { setenv("COVE_HOME", home_.home().c_str(), 1); }
  ~SnapshotArchives() override { unsetenv("COVE_HOME"); }

  void write(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    const std::string whole = home_.outside() + "/" + path;
    fs::create_directories(fs::path(whole).parent_path());
    std::ofstream(whole) << text;
    ASSERT_EQ(chmod(whole.c_str(), mode), 0);
  }
  // Of a directory with one file; one sealed layer that adds another.
  record::Snapshot snapshot() const {
    write("base/etc/hello", "hi");
    fs::create_directories(home_.home() + "/layers/aa/root/work");
    std::ofstream(home_.home() + "/layers/aa/root/work/made") << "made";
    return {.tag = "one",
            .sandbox = "t",
            .backend = "native",
            .image = home_.outside() + "/base",
            .cwd = "/work",
            .user = "1000",
            .layers = {"aa"},
            .created_unix = 1000000000,
            .sessions = {{"main", std::string("state\0of main", 13)}, {"other", ""}},
            .env = {{"PATH", "/bin"}, {"LONG", std::string(5000, 'x')}}};
  }
  std::string archive_of(const record::Snapshot& snapshot) {
    auto planned = plan_archive(store_, home_.home(), snapshot);
    EXPECT_TRUE(planned) << planned.error().text();
    return planned ? written(planned->archive) : "";
  }
  std::string written(const ArchiveSpec& spec) {
    std::string bytes;
    const auto done = write_archive(store_, spec, [&](std::string_view part) -> Result<void> {
      bytes += part;
      return {};
    });
    EXPECT_TRUE(done) << done.error().text();
    return bytes;
  }
  Result<record::Snapshot> take(const std::string& bytes, const std::string& tag) {
    const UniqueFd file(memfd_create("archive", MFD_CLOEXEC));
    EXPECT_TRUE(write_bytes(file.get(), bytes, "write"));
    lseek(file.get(), 0, SEEK_SET);
    return import_snapshot(store_, file.get(), tag);
  }
  bool nothing_is_there() const { return store_.list()->empty() && record::list_snapshots()->empty(); }

  TestHome home_;
  Store store_ = *Store::open(home_.home());
};

// Of a layer's tar: path -> content.
class Listing final : public guest::TarSink {
 public:
  std::map<std::string, std::string> files;
  std::map<std::string, std::int64_t> owners;
  Result<void> begin(const guest::TarEntry& entry) override {
    EXPECT_FALSE(files.contains(entry.path)) << entry.path << " is there twice";
    now_ = &files[entry.path];
    owners[entry.path] = entry.uid;
    return {};
  }
  Result<void> data(std::string_view bytes) override {
    now_->append(bytes);
    return {};
  }
  Result<void> end() override { return {}; }

 private:
  std::string* now_ = nullptr;
};

class Text final : public guest::ByteSource {
 public:
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> read(char* to, std::size_t bytes) override {
    const std::size_t size = std::min(bytes, bytes_.size() - at_);
    std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

Listing listing_of(const std::vector<TreePart>& parts) {
  std::string bytes;
  const auto done = write_layer(parts, [&](std::string_view part) -> Result<void> {
    bytes += part;
    return {};
  });
  EXPECT_TRUE(done) << done.error().text();
  Text source(bytes);
  Listing listing;
  EXPECT_TRUE(guest::read_tar(source, listing));
  return listing;
}

TEST_F(SnapshotArchives, ComeBackWithFilesAndSessions) {
  const record::Snapshot before = snapshot();
  const auto after = take(archive_of(before), "two");
  ASSERT_TRUE(after) << after.error().text();
  const auto found = record::find_snapshot("two");
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->sessions, before.sessions);
  EXPECT_EQ(found->env, before.env);
  EXPECT_EQ(found->cwd, "/work");
  EXPECT_EQ(found->sandbox, "t");
  EXPECT_EQ(found->backend, "native");
  EXPECT_TRUE(found->layers.empty());
  EXPECT_EQ(found->user, "1000");
  const auto image = store_.find(found->image);
  ASSERT_TRUE(image && *image);
  const auto lowers = store_.lowers(**image);
  ASSERT_TRUE(lowers);
  ASSERT_EQ(lowers->size(), 2U);
  EXPECT_EQ(content_of((*lowers)[0] + "/work/made"), "made");
  EXPECT_EQ(content_of((*lowers)[1] + "/etc/hello"), "hi");
  EXPECT_TRUE((*image)->config.labels.empty());
  // And once more, from the store.
  const auto again = take(archive_of(*found), "three");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ((*store_.find(again->image))->layers, (*image)->layers);
  EXPECT_EQ(record::find_snapshot("three")->sessions, before.sessions);
}

TEST_F(SnapshotArchives, ATagThatIsTakenOrNoneIsAConflictOrInvalid) {
  const std::string bytes = archive_of(snapshot());
  ASSERT_TRUE(take(bytes, "two"));
  EXPECT_EQ(take(bytes, "two").error().code, Errc::conflict);
  for (const char* tag : {"", ".hidden", "../x", "A", "a/b"}) EXPECT_EQ(take(bytes, tag).error().code, Errc::invalid);
}

TEST_F(SnapshotArchives, TruncatedAnywhereNothingIsThere) {
  const std::string bytes = archive_of(snapshot());
  for (std::size_t size = 0; size + 2048 < bytes.size(); size += bytes.size() / 37 + 1) {
    EXPECT_FALSE(take(bytes.substr(0, size), "two")) << size;
    EXPECT_TRUE(nothing_is_there()) << size;
  }
}

TEST_F(SnapshotArchives, AnyByteOfABlobChangedIsRefused) {
  const std::string bytes = archive_of(snapshot());
  int tried = 0;
  for (std::size_t at = bytes.find("blobs/sha256/"); at != std::string::npos;
       at = bytes.find("blobs/sha256/", at + 1)) {
    if (at % 512 != 0) continue;  // only where a header names it
    std::string other = bytes;
    other[at + 512 + 20] ^= 1;
    EXPECT_FALSE(take(other, "two")) << at;
    EXPECT_TRUE(nothing_is_there()) << at;
    ++tried;
  }
  EXPECT_EQ(tried, 4);  // two layers, the config, the manifest
}

TEST_F(SnapshotArchives, AnImageOfNoSnapshotIsRefusedBeforeItIsUnpacked) {
  auto planned = plan_archive(store_, home_.home(), snapshot());
  ASSERT_TRUE(planned);
  planned->archive.config.labels.clear();
  const auto refused = take(written(planned->archive), "two");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cove image load"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(nothing_is_there());
  EXPECT_TRUE(fs::is_empty(store_.path() + "/layers"));
}

TEST_F(SnapshotArchives, HostileLabelsAreRefused) {
  const auto with = [&](record::Snapshot hostile) {
    const auto labels = labels_of(hostile);
    EXPECT_TRUE(labels);
    record::Snapshot into;
    return read_labels(*labels, into);
  };
  EXPECT_TRUE(with(snapshot()));
  EXPECT_FALSE(with({.env = {{"A=B", "c"}}}));
  EXPECT_FALSE(with({.env = {{"", "c"}}}));
  EXPECT_FALSE(with({.env = {{"A", std::string("c\0d", 3)}}}));
  EXPECT_FALSE(with({.sessions = {{std::string(300, 'n'), ""}}}));
  const Labels good = *labels_of(snapshot());
  for (const std::string& state : {std::string("!!!!"), std::string("AAA"), base64("\xff\xff\xff\xff\xff\xff\xff\xff"),
                                   good.at("cove.snapshot.state.0").substr(0, 40), std::string(3U << 20, 'A')}) {
    record::Snapshot into;
    EXPECT_FALSE(read_labels({{"cove.snapshot.state.0", state}}, into)) << state.substr(0, 50);
  }
  record::Snapshot large = snapshot();
  large.sessions["main"] = std::string(1U << 20, 'x');
  EXPECT_TRUE(with(large));  // in several labels
  large.sessions["main"] = std::string(3U << 20, 'x');
  EXPECT_EQ(labels_of(large).error().code, Errc::invalid);
}

TEST_F(SnapshotArchives, ARelativeWorkingDirectoryIsRefused) {
  auto planned = plan_archive(store_, home_.home(), snapshot());
  ASSERT_TRUE(planned);
  planned->archive.config.cwd = "../..";
  EXPECT_FALSE(take(written(planned->archive), "two"));
  EXPECT_TRUE(nothing_is_there());
}

TEST_F(SnapshotArchives, OverlaysAreOneLayerAndShowWhatASandboxSees) {
  write("image/etc/passwd", "root");
  write("image/usr/skeleton", "not from here");
  write("usr/bin/tool", "tool", 0755);
  write("usr/lib/private", "secret", 0640);
  write("opt/closed/secret", "secret");
  write("opt/open/file", "open");
  fs::permissions(home_.outside() + "/opt/closed", fs::perms::owner_all);
  const std::string at = home_.outside();
  const std::vector<native::Layer> overlays{
      {.name = "root", .target = ".", .lowers = {at + "/image"}, .volume = -1, .upper = "", .work = ""},
      {.name = "usr",
       .target = "usr",
       .lowers = {at + "/image/usr", at + "/usr"},
       .volume = -1,
       .upper = "",
       .work = ""},
      {.name = "opt", .target = "opt", .lowers = {at + "/opt"}, .volume = -1, .upper = "", .work = ""}};
  const auto layers = stacked(overlays, TreeKind::seen);
  ASSERT_EQ(layers.size(), 2U);
  const Listing bottom = listing_of(layers[0]), top = listing_of(layers[1]);
  EXPECT_EQ(bottom.files.at("etc/passwd"), "root");
  EXPECT_EQ(bottom.files.at("usr/bin/tool"), "tool");
  EXPECT_EQ(bottom.files.at("opt/open/file"), "open");
  EXPECT_FALSE(bottom.files.contains("usr/skeleton"));
  EXPECT_EQ(top.files.at("usr/skeleton"), "not from here");
  EXPECT_TRUE(bottom.files.contains("opt/closed/"));
  EXPECT_EQ(bottom.owners.at("usr/bin/tool"), 0);
  if (os::find_users().by_root) {  // otherwise they are the sandbox's own
    EXPECT_FALSE(bottom.files.contains("usr/lib/private"));
    EXPECT_FALSE(bottom.files.contains("opt/closed/secret"));
  }
}

TEST_F(SnapshotArchives, OfThisMachineIsItsUsrAndWhatWasChanged) {
  fs::create_directories(home_.home() + "/layers/aa/root/etc");
  fs::create_directories(home_.home() + "/layers/aa/usr/share");
  fs::create_directories(home_.home() + "/layers/bb/usr/lib");
  fs::create_directories(home_.home() + "/layers/bb/copy0");
  const auto planned = plan_archive(
      store_, home_.home(),
      {.tag = "one", .sandbox = "t", .backend = "native", .image = "host", .cwd = "/", .layers = {"aa", "bb"}});
  ASSERT_TRUE(planned) << planned.error().text();
  const auto& layers = planned->archive.layers;
  const auto has = [](const std::vector<TreePart>& parts, const std::string& tree, TreeKind kind,
                      const std::string& at) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const TreePart& part) { return part.tree == tree && part.kind == kind && part.at == at; });
  };
  ASSERT_EQ(layers.size(), 4U);
  EXPECT_TRUE(has(layers[0], "/usr", TreeKind::seen, "usr"));
  const std::string sealed = home_.home() + "/layers/";
  EXPECT_TRUE(has(layers[2], sealed + "aa/root", TreeKind::overlay, ""));
  EXPECT_TRUE(has(layers[2], sealed + "aa/usr", TreeKind::overlay, "usr"));
  EXPECT_TRUE(has(layers[3], sealed + "bb/usr", TreeKind::overlay, "usr"));
  for (const auto& parts : layers) EXPECT_FALSE(has(parts, sealed + "bb/copy0", TreeKind::overlay, ""));
  ASSERT_EQ(planned->notes.size(), 2U);
  EXPECT_NE(planned->notes[0].find("gigabytes"), std::string::npos);
  EXPECT_NE(planned->notes[1].find("cow"), std::string::npos);
  EXPECT_FALSE(plan_archive(store_, home_.home(), {.tag = "x", .backend = "docker"}));
}

TEST_F(SnapshotArchives, AnotherImageOfTheSameNameChangesNothingForThoseMadeFromTheFirst) {
  const auto first = take(archive_of(snapshot()), "two");
  ASSERT_TRUE(first) << first.error().text();
  ASSERT_TRUE(record::remove_snapshot("two"));
  record::Snapshot user = *first;
  user.tag = "user";
  ASSERT_TRUE(record::save_snapshot(user));
  std::ofstream(home_.home() + "/layers/aa/root/work/made") << "made anew";
  const auto second = take(archive_of(snapshot()), "two");
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_NE(second->image_layers, first->image_layers);
  ASSERT_EQ(record::images_in_use()->size(), 2U);
  ASSERT_TRUE(store_.prune({first->image_layers.begin(), first->image_layers.end()}));
  const auto planned = plan_archive(store_, home_.home(), *record::find_snapshot("user"));
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_EQ(content_of(planned->archive.layers[1][0].tree + "/work/made"), "made");
}

}  // namespace
}  // namespace cove::image
