#include "image/url.h"

#include <gtest/gtest.h>

namespace {

using cove::image::parse_url;
using cove::image::percent_encoded;
using cove::image::PlainHosts;

TEST(Url, HasAnOriginAndHidesItsQuery) {
  const auto url = parse_url("https://Registry.Example/v2/x?sig=secret");
  ASSERT_TRUE(url) << url.error().text();
  EXPECT_EQ(url->origin(), "https://registry.example:443");
  EXPECT_EQ(url->shown().find("secret"), std::string::npos);
}

TEST(Url, ARelativeOneIsRelativeToItsBase) {
  const auto url = parse_url("/b/c", "https://x.example:8443/a?q=1");
  ASSERT_TRUE(url) << url.error().text();
  EXPECT_EQ(url->text, "https://x.example:8443/b/c");
}

TEST(Url, WhatIsNotHttpOrNamesAUserIsRefused) {
  for (const char* text : {"file:///etc/passwd", "ftp://x/", "https://user:pw@x/", "", "https://", "gopher://x/",
                           "http://x/\r\nA: b", "http://x/ y"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(PlainHosts, OnlyLoopbackAndWhatIsListedMayBePlain) {
  const PlainHosts hosts{{"reg.lan:5000", "any.lan"}};
  const auto allowed = [&](const std::string& text) { return hosts.check(*parse_url(text)).has_value(); };
  for (const char* text : {"http://127.0.0.1:5000/", "http://localhost/", "http://[::1]:1/", "http://127.1.2.3/",
                           "http://reg.lan:5000/x", "http://any.lan:7/", "https://elsewhere.example/"}) {
    EXPECT_TRUE(allowed(text)) << text;
  }
  for (const char* text : {"http://elsewhere.example/", "http://reg.lan/", "http://127.evil.example/",
                           "http://localhost.evil.example/", "http://128.0.0.1/", "http://127.0.0.1.evil.example/"}) {
    EXPECT_FALSE(allowed(text)) << text;
  }
}

TEST(Url, PercentEncodingLeavesNothingThatMeansSomething) {
  EXPECT_EQ(percent_encoded("repository:a/b:pull&x=y z"), "repository%3Aa%2Fb%3Apull%26x%3Dy%20z");
}

TEST(Url, WhatOthersWroteIsShownWithoutWhatATerminalObeys) {
  EXPECT_EQ(cove::image::printable("a\x1b[31m\nb"), "a?[31m?b");
  EXPECT_LT(cove::image::printable(std::string(10'000, 'x')).size(), 1000U);
}

}  // namespace
