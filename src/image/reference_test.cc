#include "image/reference.h"

#include <gtest/gtest.h>

namespace {

using cove::image::parse_reference;
using cove::image::Transport;

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string name_of(const std::string& text) {
  const auto parsed = parse_reference(text);
  return parsed ? parsed->name() : parsed.error().text();
}

TEST(Reference, ShortNamesAreOfDockerHub) {
  EXPECT_EQ(name_of("python"), "docker.io/library/python:latest");
  EXPECT_EQ(name_of("python:3.12"), "docker.io/library/python:3.12");
  EXPECT_EQ(name_of("docker.io/library/python"), "docker.io/library/python:latest");
  EXPECT_EQ(name_of("docker.io/python"), "docker.io/library/python:latest");
  EXPECT_EQ(name_of("index.docker.io/python"), "docker.io/library/python:latest");
  EXPECT_EQ(name_of("someone/tool"), "docker.io/someone/tool:latest");
}

TEST(Reference, TheFirstPartIsAHostIfItLooksLikeOne) {
  EXPECT_EQ(name_of("localhost/a"), "localhost/a:latest");
  EXPECT_EQ(name_of("localhost:5000/a/b:x"), "localhost:5000/a/b:x");
  EXPECT_EQ(name_of("quay.io/a/b_c__d-e--f.g"), "quay.io/a/b_c__d-e--f.g:latest");
  EXPECT_EQ(name_of("[::1]:5000/a"), "[::1]:5000/a:latest");
  EXPECT_EQ(name_of("GHCR.io/a/b"), "ghcr.io/a/b:latest");
}

TEST(Reference, ADigestStandsForItselfOrBesideATag) {
  EXPECT_EQ(name_of("localhost:5000/a/b@" + kDigest), "localhost:5000/a/b@" + kDigest);
  const auto both = parse_reference("a:1@" + kDigest);
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ(both->tag, "1");
  EXPECT_EQ(both->digest, kDigest);
}

TEST(Reference, EnginesAreNamedByTheirTransport) {
  const auto daemon = parse_reference("docker-daemon:tool:1");
  ASSERT_TRUE(daemon) << daemon.error().text();
  EXPECT_EQ(daemon->transport, Transport::docker_daemon);
  EXPECT_EQ(daemon->asked, "tool:1");
  EXPECT_EQ(daemon->name(), "docker.io/library/tool:1");
  const auto podman = parse_reference("containers-storage:localhost/x");
  ASSERT_TRUE(podman) << podman.error().text();
  EXPECT_EQ(podman->transport, Transport::containers_storage);
  EXPECT_EQ(podman->name(), "localhost/x:latest");
}

class Refused : public testing::TestWithParam<std::string> {};

TEST_P(Refused, IsInvalidAndShownWithoutControlCharacters) {
  const auto parsed = parse_reference(GetParam());
  ASSERT_FALSE(parsed) << parsed->name();
  EXPECT_EQ(parsed.error().code, cove::Errc::invalid);
  for (const char c : parsed.error().message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

INSTANTIATE_TEST_SUITE_P(Reference, Refused,
                         testing::Values("", ":", "a:", "/a", "a/", "a//b", "a:b:c", "A", "a/B", "a..b", "a___b", "-a",
                                         "a-", "a b", "a\nb", "../a", "a/../b", "a@",
                                         "a@sha256:", "a@sha256:" + std::string(63, 'a'),
                                         "a@sha256:" + std::string(64, 'A'), "a@md5:" + std::string(32, 'a'),
                                         "a@" + kDigest + "x", "a@" + kDigest + "@" + kDigest, "localhost:0/a",
                                         "localhost:65536/a", "localhost:5x/a", "host:/a", "[::1/a", "[]/a",
                                         "[g::]:1/a", "-x.io/a", "x-.io/a", ".io/a", "u:p@x.io/a", "https://x.io/a",
                                         "a:" + std::string(129, 't'), "a:-t", "a:t/u", std::string(256, 'a'),
                                         "docker-daemon:", "containers-storage:[x]a", "--help", "a?b", "a#b",
                                         std::string("a\0b", 3), "\x1b[31m", "\xc3\xa4"));

}  // namespace
