// Registries that want to know who asks, and registries that speak TLS.

#include "fixture.h"
#include "image/base64.h"
#include "image/digest.h"
#include "image/test_server.h"

namespace cove::image_tests {
namespace {

using image::base64;
using image::testing::answer_with;
using image::testing::TestServer;

class PullAuthTest : public PullTest {
 protected:
  void log_in(const std::string& host, const std::string& user_and_password) const {
    write(".docker/config.json", R"({"auths": {")" + host + R"(": {"auth": ")" + base64(user_and_password) + "\"}}}");
  }
  // Without, with wrong and with right credentials; the errors are sentences that say what to do.
  void check_all_three(const std::string& host) const {
    const std::string name = host + "/a/b:1";
    const Ran without = pull(name);
    EXPECT_EQ(without.code, 125);
    EXPECT_NE(without.text.find("docker login " + host), std::string::npos) << without.text;
    log_in(host, "tester:hunter2");
    const Ran wrong = pull(name);
    EXPECT_EQ(wrong.code, 125);
    EXPECT_NE(wrong.text.find("does not accept user 'tester'"), std::string::npos) << wrong.text;
    EXPECT_EQ(wrong.text.find("hunter2"), std::string::npos) << wrong.text;
    log_in(host, "tester:correct");
    const Ran right = pull(name);
    EXPECT_EQ(right.code, 0) << right.text;
    EXPECT_TRUE(has(name));
  }
};

TEST_F(PullAuthTest, BasicByHtpasswd) {
  if (const std::string why = missing({"htpasswd"}); !why.empty()) GTEST_SKIP() << why;
  write("htpasswd", shell("htpasswd -Bbn tester correct").text);
  const RegistryServer registry(folder_ + "/registry", storage_,
                                "auth: {htpasswd: {realm: tests, path: " + folder_ + "/htpasswd}}\n");
  check_all_three(registry.host());
}

// The registry checks the token's signature, audience and scope itself; the token server is ours.
constexpr char kMakeToken[] = R"sh(set -e; cd "$1"; now=$(date +%s)
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=token -keyout key.pem -out cert.pem -days 1 2>/dev/null
coded() { openssl base64 -A | tr '+/' '-_' | tr -d =; }
x5c=$(openssl x509 -in cert.pem -outform DER | openssl base64 -A)
head=$(printf '{"typ":"JWT","alg":"RS256","x5c":["%s"]}' "$x5c" | coded)
body=$(printf '{"iss":"us","sub":"t","aud":"them","exp":%d,"nbf":%d,"iat":%d,"jti":"1","access":[{"type":"repository","name":"a/b","actions":["pull"]}]}' $((now + 600)) $((now - 10)) $now | coded)
printf '%s.%s.%s' "$head" "$body" "$(printf '%s.%s' "$head" "$body" | openssl dgst -sha256 -sign key.pem -binary | coded)")sh";

TEST_F(PullAuthTest, ABearerTokenByTheChallenge) {
  if (const std::string why = missing({"openssl"}); !why.empty()) GTEST_SKIP() << why;
  write("make-token", kMakeToken);
  const Ran token = shell("bash " + folder_ + "/make-token " + folder_);
  ASSERT_EQ(token.code, 0) << token.text;
  const TestServer server([&](const std::string& request) {
    const bool known = request.find("Authorization: Basic " + base64("tester:correct")) != std::string::npos;
    return known ? answer_with("200 OK", "", R"({"token": ")" + token.text + "\"}")
                 : answer_with("401 Unauthorized", "", "{}");
  });
  const RegistryServer registry(folder_ + "/registry", storage_,
                                "auth: {token: {realm: \"" + server.url("/token") +
                                    "\", service: them, issuer: us, rootcertbundle: " + folder_ + "/cert.pem}}\n");
  check_all_three(registry.host());
  EXPECT_NE(server.requests().back().find("scope=repository%3Aa%2Fb%3Apull"), std::string::npos);
}

TEST_F(PullAuthTest, AForeignLayerIsRefusedWithASentence) {
  const std::string config =
      R"({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [")" + blobs_[0] + "\"]}}";
  const std::string manifest =
      R"({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": {"mediaType":
      "application/vnd.docker.container.image.v1+json", "digest": ")" +
      image::sha256_of(config) + R"(", "size": )" + std::to_string(config.size()) +
      R"(}, "layers": [{"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "size": 10, "digest": ")" +
      blobs_[0] + R"(", "urls": ["https://registry.invalid/layer"]}]})";
  const TestServer server([&](const std::string& request) {
    if (request.find("/manifests/") == std::string::npos) return answer_with("200 OK", "", config);
    return answer_with("200 OK", "Content-Type: application/vnd.docker.distribution.manifest.v2+json\r\n", manifest);
  });
  const Ran ran = pull(server.host() + "/win:1");
  EXPECT_EQ(ran.code, 125);
  EXPECT_NE(ran.text.find("is foreign"), std::string::npos) << ran.text;
}

TEST_F(PullAuthTest, TlsOfAnUnknownAuthorityIsRefusedAndOfAKnownOneTaken) {
  if (const std::string why = missing({"openssl"}); !why.empty()) GTEST_SKIP() << why;
  const Ran made = shell("cd " + folder_ +
                         " && openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=tests -keyout tls.key -out tls.crt "
                         "-days 1 -addext subjectAltName=IP:127.0.0.1 2>&1");
  ASSERT_EQ(made.code, 0) << made.text;
  const RegistryServer registry(folder_ + "/registry", storage_,
                                "  tls: {certificate: " + folder_ + "/tls.crt, key: " + folder_ + "/tls.key}\n");
  const std::string name = registry.host() + "/a/b:1";
  const Ran unknown = pull(name);
  EXPECT_EQ(unknown.code, 125);
  EXPECT_NE(unknown.text.find("SSL_CERT_FILE"), std::string::npos) << unknown.text;
  EXPECT_NE(unknown.text.find("certificate"), std::string::npos) << unknown.text;
  const Ran known = pull(name, {"SSL_CERT_FILE=" + folder_ + "/tls.crt"});
  EXPECT_EQ(known.code, 0) << known.text;
}

}  // namespace
}  // namespace cove::image_tests
