#include "image/auth.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "image/base64.h"
#include "image/test_server.h"

namespace {

using cove::Errc;
using cove::image::Authorizer;
using cove::image::base64;
using cove::image::Http;
using cove::image::HttpAnswer;
using cove::image::testing::answer_with;
using cove::image::testing::TestServer;

class Auth : public testing::Test {
 protected:
  Auth() {
    std::string form = testing::TempDir() + "cove-auth-XXXXXX";
    folder_ = mkdtemp(form.data());
    setenv("DOCKER_CONFIG", folder_.c_str(), 1);
    unsetenv("XDG_RUNTIME_DIR");
  }
  ~Auth() override {
    unsetenv("DOCKER_CONFIG");
    std::filesystem::remove_all(folder_);
  }
  void log_in(const std::string& entry) const {
    std::ofstream(folder_ + "/config.json") << R"({"auths": {"reg.example": )" + entry + "}}";
  }
  static HttpAnswer challenge(const std::string& text) {
    return {.status = 401, .headers = {{"www-authenticate", text}}, .body = ""};
  }
  Http http_{{}};
  Authorizer authorizer_{"reg.example", "a/b"};
  std::string folder_;
};

TEST_F(Auth, AnAnonymousTokenIsAskedForWithServiceAndScope) {
  const TestServer server([](const std::string&) { return answer_with("200 OK", "", R"({"token": "t1"})"); });
  const auto done = authorizer_.answer(
      http_, challenge("Bearer realm=\"" + server.url("/token") + R"(",service="s s",scope="repository:a/b:pull")"), "",
      {});
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(authorizer_.header(), "Bearer t1");
  EXPECT_TRUE(server.requests()[0].starts_with("GET /token?service=s%20s&scope=repository%3Aa%2Fb%3Apull "));
  EXPECT_EQ(server.requests()[0].find("Authorization"), std::string::npos);
}

TEST_F(Auth, CredentialsGoToTheRealm) {
  log_in(R"({"auth": ")" + base64("me:pw") + "\"}");
  const TestServer server([](const std::string&) { return answer_with("200 OK", "", R"({"access_token": "t2"})"); });
  ASSERT_TRUE(authorizer_.answer(http_, challenge("Bearer realm=\"" + server.url("/") + "\""), "", {}));
  EXPECT_EQ(authorizer_.header(), "Bearer t2");
  EXPECT_NE(server.requests()[0].find("Authorization: Basic " + base64("me:pw")), std::string::npos);
}

TEST_F(Auth, AnIdentityTokenIsExchangedInABody) {
  log_in(R"({"identitytoken": "idt"})");
  const TestServer server([](const std::string&) { return answer_with("200 OK", "", R"({"access_token": "t3"})"); });
  ASSERT_TRUE(authorizer_.answer(http_, challenge("Bearer realm=\"" + server.url("/t") + "\""), "", {}));
  EXPECT_EQ(authorizer_.header(), "Bearer t3");
  EXPECT_TRUE(server.requests()[0].starts_with("POST /t "));
  EXPECT_EQ(server.requests()[0].substr(0, server.requests()[0].find("\r\n\r\n")).find("idt"), std::string::npos);
}

TEST_F(Auth, ARealmInTheClearIsRefusedBeforeAnythingIsSent) {
  log_in(R"({"auth": ")" + base64("me:pw") + "\"}");
  const auto done = authorizer_.answer(http_, challenge(R"(Bearer realm="http://auth.example/token")"), "", {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::denied);
  EXPECT_NE(done.error().message.find("not encrypted"), std::string::npos);
}

TEST_F(Auth, WithoutCredentialsBasicSaysWhatToDo) {
  const auto done = authorizer_.answer(http_, challenge("Basic realm=x"), "", {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::denied);
  EXPECT_NE(done.error().message.find("docker login reg.example"), std::string::npos);
}

TEST_F(Auth, WrongCredentialsNameTheUserAndNotThePassword) {
  log_in(R"({"auth": ")" + base64("me:hunter2") + "\"}");
  ASSERT_TRUE(authorizer_.answer(http_, challenge("Basic realm=x"), "", {}));
  const auto again = authorizer_.answer(http_, challenge("Basic realm=x"), authorizer_.header(), {});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("'me'"), std::string::npos) << again.error().message;
  EXPECT_EQ(again.error().message.find("hunter2"), std::string::npos);
}

TEST_F(Auth, ATokenThatIsNoneIsAnError) {
  for (const char* body : {"", "{}", "[]", R"({"token": 3})", R"({"token": "a\r\nX: y"})", R"({"token": ""})"}) {
    const TestServer server([&](const std::string&) { return answer_with("200 OK", "", body); });
    EXPECT_FALSE(authorizer_.answer(http_, challenge("Bearer realm=\"" + server.url("/") + "\""), "", {})) << body;
  }
}

}  // namespace
