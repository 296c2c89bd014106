#include "image/archives.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "image/digest.h"
#include "image/files.h"
#include "image/test_tar.h"

namespace cove::image {
namespace {

class Archives : public testing::Test {
 protected:
  Result<std::vector<Image>> load(const std::string& bytes, LoadSpec spec = {}) {
    const UniqueFd file(memfd_create("archive", MFD_CLOEXEC));
    EXPECT_TRUE(write_bytes(file.get(), bytes, "write"));
    lseek(file.get(), 0, SEEK_SET);
    return load_archive(store_, file.get(), spec);
  }
  std::string save(const Image& image, ArchiveFormat format) {
    std::string bytes;
    const auto done = save_image(store_, image, format, [&](std::string_view part) -> Result<void> {
      bytes += part;
      return {};
    });
    EXPECT_TRUE(done) << done.error().text();
    return bytes;
  }
  std::string text_in(const Image& image, const std::string& path) {
    return content_of(store_.lowers(image)->front() + "/" + path);
  }

  TestHome home_;
  Store store_ = *Store::open(home_.home());
};

const std::string kLayer = TarText().file("etc/hello", "hi").end();

std::string config_for(const std::vector<std::string>& layers, const std::string& architecture = "amd64") {
  OciConfig config;
  config.config = {.env = {"A=b"}, .cmd = {"/bin/x"}, .os = "linux", .architecture = architecture};
  for (const std::string& layer : layers) config.diff_ids.push_back(sha256_of(layer));
  return oci_config_to_json(config);
}

std::string docker_archive(const std::string& layer, const std::string& tags = R"(["mine:1","mine:2"])") {
  const std::string config = config_for({kLayer});
  const std::string name = sha256_of(config).substr(7) + ".json";
  return TarText()
      .file("l/layer.tar", layer)
      .symlink("m/layer.tar", "../l/layer.tar")
      .file(name, config)
      .file("manifest.json", R"([{"Config":")" + name + R"(","RepoTags":)" + tags + R"(,"Layers":["m/layer.tar"]}])")
      .end();
}

class OciArchive {
 public:
  std::string blob(const std::string& bytes, const std::string& extra, std::string_view type) {
    const std::string digest = sha256_of(bytes);
    tar_.file("blobs/sha256/" + digest.substr(7), bytes);
    return R"({"mediaType":")" + std::string(type) + R"(","digest":")" + digest + R"(","size":)" +
           std::to_string(bytes.size()) + extra + "}";
  }
  std::string manifest(const std::string& layer, const std::string& architecture) {
    const std::string config = blob(config_for({layer}, architecture), "", kOciConfig);
    const std::string packed = blob(gzipped(layer), "", kOciLayerGzip);
    return blob(R"({"schemaVersion":2,"config":)" + config + R"(,"layers":[)" + packed + "]}",
                R"(,"platform":{"os":"linux","architecture":")" + architecture + "\"}", kOciManifest);
  }
  std::string end(const std::string& manifests) {
    tar_.file("oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
    return tar_.file("index.json", R"({"schemaVersion":2,"manifests":[)" + manifests + "]}").end();
  }

 private:
  TarText tar_;
};

TEST_F(Archives, ADockerArchiveIsLoadedUnderAllItsNames) {
  const auto images = load(docker_archive(kLayer));
  ASSERT_TRUE(images) << images.error().text();
  EXPECT_EQ(images->size(), 2U);
  const Image image = **store_.find("mine:2");
  EXPECT_EQ(image.config.env, std::vector<std::string>{"A=b"});
  EXPECT_EQ(text_in(image, "etc/hello"), "hi");
}

TEST_F(Archives, GzipOutsideAndNoNameInsideAreFine) {
  const auto images = load(gzipped(docker_archive(kLayer, "null")), {.fallback = "app"});
  ASSERT_TRUE(images) << images.error().text();
  EXPECT_EQ(images->front().name, "docker.io/library/app:latest");
  EXPECT_EQ(load(docker_archive(kLayer, "null")).error().code, Errc::invalid);
}

TEST_F(Archives, AnotherLayerThanTheConfigSaysIsRefused) {
  const auto images = load(docker_archive(TarText().file("etc/hello", "evil").end()));
  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().code, Errc::protocol);
  EXPECT_TRUE(store_.list()->empty());
}

TEST_F(Archives, AnOciArchiveForSeveralPlatformsGivesTheOneAskedFor) {
  const std::string other = TarText().file("etc/hello", "arm").end();
  OciArchive archive;
  const std::string amd = archive.manifest(kLayer, "amd64"), arm = archive.manifest(other, "arm64");
  const std::string index = archive.blob(R"({"schemaVersion":2,"manifests":[)" + amd + "," + arm + "]}",
                                         R"(,"annotations":{"org.opencontainers.image.ref.name":"app:1"})", kOciIndex);
  const std::string bytes = archive.end(index);
  ASSERT_TRUE(load(bytes, {.platform = {.os = "linux", .architecture = "amd64"}}));
  EXPECT_EQ(text_in(**store_.find("app:1"), "etc/hello"), "hi");
  ASSERT_TRUE(load(bytes, {.platform = {.os = "linux", .architecture = "arm64"}}));
  EXPECT_EQ(text_in(**store_.find("app:1"), "etc/hello"), "arm");
  const auto none = load(bytes, {.platform = {.os = "linux", .architecture = "s390x"}});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("linux/arm64"), std::string::npos) << none.error().message;
}

TEST_F(Archives, WhatIsNoImageSaysWhatWouldTakeIt) {
  const auto images = load(kLayer);
  ASSERT_FALSE(images);
  EXPECT_NE(images.error().message.find("import"), std::string::npos);
  EXPECT_FALSE(load(""));
  EXPECT_FALSE(load(std::string(1000, 'x')));
  EXPECT_FALSE(load(TarText().file("manifest.json", R"([{"Config":"/etc/passwd","Layers":[]}])").end()));
  EXPECT_FALSE(load(TarText().symlink("manifest.json", "manifest.json").end()));
  EXPECT_FALSE(load(TarText().symlink("manifest.json", "/etc/passwd").end()));
}

TEST_F(Archives, WhatIsSavedIsLoadedAgainInBothFormats) {
  std::filesystem::create_directories(home_.outside() + "/root/etc");
  std::ofstream(home_.outside() + "/root/etc/hello") << "hi";
  ImportSpec spec{.name = "mine:1"};
  spec.config.env = {"X=1"};
  spec.config.exposed_ports = {"80/tcp"};
  const auto image = import_directory(store_, home_.outside() + "/root", spec);
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(text_in(*image, "etc/hello"), "hi");
  for (const ArchiveFormat format : {ArchiveFormat::oci, ArchiveFormat::docker}) {
    const std::string bytes = save(*image, format);
    EXPECT_EQ(save(*image, format), bytes);
    ASSERT_TRUE(store_.remove("mine:1"));
    const auto loaded = load(bytes);
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(loaded->front().name, image->name);
    EXPECT_EQ(loaded->front().layers, image->layers);
    EXPECT_EQ(loaded->front().config, image->config);
  }
}

TEST_F(Archives, ADirectoryWithAWhiteoutsNameIsNotImported) {
  std::ofstream(home_.outside() + "/.wh.x") << "";
  const auto image = import_directory(store_, home_.outside(), {.name = "mine"});
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message.find(".wh."), std::string::npos);
  EXPECT_FALSE(import_directory(store_, home_.outside() + "/none", {.name = "mine"}));
  EXPECT_TRUE(store_.list()->empty());
}

TEST_F(Archives, ABombIsRefusedBeforeItFillsTheDisk) {
  LoadSpec spec;
  spec.limits.ratio = 100;
  spec.limits.free_bytes = 1 << 20;
  const auto loaded = load(gzipped(TarText().file("x", std::string(16 << 20, '\0')).end()), spec);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("the archive grows more than 100 times"), std::string::npos)
      << loaded.error().message;
}

TEST_F(Archives, BracketsWithoutEndAreAnErrorNotACrash) {
  for (const char* file : {"index.json", "manifest.json"}) {
    for (const std::string& text :
         {std::string(1'000'000, '['), std::string(1'000'000, '[') + std::string(1'000'000, ']'),
          R"({"manifests":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}"})
      EXPECT_FALSE(load(TarText().file(file, text).end())) << file;
  }
}

// A sandbox may give its files any name; in a layer this one would remove another.
TEST_F(Archives, AFileWhoseNameMeansARemovedOneIsNotExported) {
  std::ofstream(home_.outside() + "/.wh.passwd") << "";
  for (const TreeKind kind : {TreeKind::overlay, TreeKind::plain, TreeKind::seen}) {
    const auto written = write_layer(home_.outside(), kind, [](std::string_view) -> Result<void> { return {}; });
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find(".wh."), std::string::npos);
  }
}

}  // namespace
}  // namespace cove::image
