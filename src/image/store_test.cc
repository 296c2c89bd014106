#include "image/store.h"

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include "image/digest.h"
#include "image/name.h"
#include "image/test_tar.h"

namespace cove::image {
namespace {

std::string layer_bytes(const std::string& content) { return TarText().file("f", content).end(); }

class ImageStore : public testing::Test {
 protected:
  Image image_of(const std::string& name, const std::vector<std::string>& contents) {
    Image image{.name = *normal_name(name)};
    for (const std::string& content : contents) {
      const auto layer = add(store_, layer_bytes(content));
      EXPECT_TRUE(layer) << layer.error().text();
      image.layers.push_back(layer->diff_id);
    }
    image.config_digest = sha256_of(name);
    return image;
  }

  TestHome home_;
  Store store_ = *Store::open(home_.home());
};

TEST(ImageName, DefaultsAreWrittenOut) {
  EXPECT_EQ(*normal_name("python"), "docker.io/library/python:latest");
  EXPECT_EQ(*normal_name("a/b:1"), "docker.io/a/b:1");
  EXPECT_EQ(*normal_name("localhost:5000/x"), "localhost:5000/x:latest");
  EXPECT_EQ(*normal_name("ghcr.io/a/b/c:V1.2"), "ghcr.io/a/b/c:V1.2");
  const std::string digest = "sha256:" + std::string(64, '0');
  EXPECT_EQ(*normal_name("x@" + digest), "docker.io/library/x@" + digest);
  for (const char* name : {"docker.io/library/python:latest", "docker.io/a/b:1", "localhost:5000/x:latest"})
    EXPECT_EQ(*normal_name(short_name(name)), name);
  EXPECT_EQ(short_name("docker.io/localhost/x:1"), "docker.io/localhost/x:1");
}

TEST(ImageName, WhatCannotNameAnImageIsRefused) {
  for (const std::string& name :
       {std::string(), std::string("../x"), std::string("a//b"), std::string("A"), std::string("a:"),
        std::string("a:b/c"), std::string("/a"), std::string("a@sha256:1"), std::string("x\0y", 3), std::string("a b"),
        std::string(300, 'a'), std::string(".a/b")})
    EXPECT_FALSE(normal_name(name)) << name;
}

TEST_F(ImageStore, AnImageIsFoundByNameAndByTheBeginningOfItsDigest) {
  const Image image = image_of("mine:1", {"a", "b"});
  ASSERT_TRUE(store_.put(image));
  EXPECT_EQ(**store_.find("mine:1"), image);
  EXPECT_EQ(**store_.find("docker.io/library/mine:1"), image);
  EXPECT_EQ(**store_.find(image.config_digest.substr(7, 12)), image);
  EXPECT_EQ(**store_.find(image.config_digest), image);
  EXPECT_FALSE(*store_.find(image.config_digest.substr(7, 11)));
  EXPECT_FALSE(*store_.find("mine:2"));
  EXPECT_EQ(store_.list()->size(), 1U);
}

TEST_F(ImageStore, AnImageWithoutItsLayersIsRefused) {
  Image image = image_of("mine", {"a"});
  image.layers.push_back("sha256:" + std::string(64, '1'));
  EXPECT_EQ(store_.put(image).error().code, Errc::not_found);
  image.layers.back() = "../../etc";
  EXPECT_FALSE(store_.put(image));
  EXPECT_TRUE(store_.list()->empty());
}

TEST_F(ImageStore, ADamagedFileIsNamedAndCanBeRemoved) {
  ASSERT_TRUE(store_.put(image_of("mine", {"a"})));
  std::ofstream(store_.path() + "/names/" + escape_name(*normal_name("mine")) + ".json")
      << R"({"name":"x","layers":7})";
  const auto list = store_.list();
  ASSERT_FALSE(list);
  EXPECT_NE(list.error().message.find("'layers'"), std::string::npos) << list.error().message;
  EXPECT_FALSE(store_.prune({}));  // nobody knows what it uses
  EXPECT_TRUE(store_.remove("mine"));
  EXPECT_TRUE(store_.prune({}));
}

TEST_F(ImageStore, PruneKeepsWhatImagesAndSandboxesUse) {
  const Image kept = image_of("kept", {"a", "b"}), gone = image_of("gone", {"b", "c", "d"});
  ASSERT_TRUE(store_.put(kept));
  ASSERT_TRUE(store_.put(gone));
  ASSERT_TRUE(store_.make_aside());  // of a process that died
  ASSERT_TRUE(store_.remove("gone"));
  EXPECT_EQ(store_.remove("gone").error().code, Errc::not_found);
  const auto pruned = store_.prune({gone.layers[2]});
  ASSERT_TRUE(pruned) << pruned.error().text();
  EXPECT_EQ(pruned->layers, std::vector{gone.layers[1]});
  EXPECT_EQ(pruned->leftovers, 1U);
  for (const std::string& id : {kept.layers[0], kept.layers[1], gone.layers[2]}) EXPECT_TRUE(store_.has_layer(id));
}

TEST_F(ImageStore, PruneWaitsForNobody) {
  const auto held = store_.hold();
  ASSERT_TRUE(held);
  EXPECT_EQ(store_.prune({}).error().code, Errc::busy);
}

TEST_F(ImageStore, LowersAreTopmostFirstAndEachOnce) {
  const Image image = image_of("mine", {"a", "b", "a", "c"});
  const auto lowers = store_.lowers(image);
  ASSERT_TRUE(lowers) << lowers.error().text();
  EXPECT_EQ(*lowers, (std::vector{store_.layer_path(image.layers[3]), store_.layer_path(image.layers[0]),
                                  store_.layer_path(image.layers[1])}));
  EXPECT_EQ(store_.lowers(Image{})->size(), 1U);
}

TEST_F(ImageStore, NothingShowsThroughALayerWhoseRootIsOpaque) {
  const auto below = add(store_, layer_bytes("below"));
  const auto opaque = add(store_, TarText().file(".wh..wh..opq", "").file("f", "x").end());
  const auto above = add(store_, layer_bytes("above"));
  ASSERT_TRUE(below && opaque && above);
  const auto lowers = store_.lowers(std::vector{below->diff_id, opaque->diff_id, above->diff_id});
  EXPECT_EQ(*lowers, (std::vector{store_.layer_path(above->diff_id), store_.layer_path(opaque->diff_id)}));
}

TEST_F(ImageStore, AStoreThatOthersCouldWriteInIsRefused) {
  std::filesystem::permissions(store_.path(), std::filesystem::perms::all);
  EXPECT_EQ(Store::open(home_.home()).error().code, Errc::denied);
}

TEST(ImageJson, ComesBackAsItWas) {
  Image image{.name = "docker.io/library/x:1", .digest = sha256_of("m"), .config_digest = sha256_of("c")};
  image.layers = {sha256_of("1"), sha256_of("2")};
  image.size = 1ULL << 40;
  image.created = "2026-01-01T00:00:00Z";
  image.config = {.env = {"A=b", "C="},
                  .entrypoint = {"/x"},
                  .cmd = {"y z"},
                  .shell = {"sh"},
                  .cwd = "/w",
                  .user = "u:g",
                  .os = "linux",
                  .architecture = "arm64",
                  .variant = "v8",
                  .exposed_ports = {"80/tcp"},
                  .volumes = {"/v"},
                  .stop_signal = "SIGINT",
                  .labels = {{"k", "v"}}};
  EXPECT_EQ(*image_from_json(to_json(image)), image);
  const OciConfig config{.config = image.config, .diff_ids = image.layers, .created = image.created};
  const auto back = oci_config_from_json(oci_config_to_json(config));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->config, image.config);
  EXPECT_EQ(back->diff_ids, image.layers);
}

TEST(ImageJson, WrongShapesAreErrorsWithTheFieldsName) {
  const auto names = [](const std::string& text, const std::string& field) {
    const auto config = oci_config_from_json(text);
    return !config && config.error().message.find("'" + field + "'") != std::string::npos;
  };
  EXPECT_TRUE(names(R"({"config":[]})", "config"));
  EXPECT_TRUE(names(R"({"config":{"Env":"x"}})", "Env"));
  EXPECT_TRUE(names(R"({"config":{"Env":[1]}})", "Env"));
  EXPECT_TRUE(names(R"({"config":{"Cmd":["a\u0000b"]}})", "Cmd"));
  EXPECT_TRUE(names(R"({"rootfs":{"diff_ids":["sha256:../../x"]}})", "diff_ids"));
  EXPECT_TRUE(names(R"({"config":{"Labels":{"a":1}}})", "Labels"));
  EXPECT_FALSE(oci_config_from_json("[]"));
  EXPECT_FALSE(oci_config_from_json(std::string(100000, '[')));
  EXPECT_TRUE(oci_config_from_json(R"({"config":null,"other":1})"));
}

}  // namespace
}  // namespace cove::image
