// What only the library offers.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <thread>

#include "client/cove.h"
#include "helpers/home.h"
#include "helpers/process.h"

namespace cove {
namespace {

using namespace std::chrono_literals;
using namespace testing_helpers;

// Answers one connection with what it said, in capitals, when it has said all.
void shout_back(const UniqueFd& listener) {
  const UniqueFd peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(peer.get(), buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  std::transform(said.begin(), said.end(), said.begin(), [](unsigned char c) { return std::toupper(c); });
  for (std::size_t done = 0; done < said.size();) {
    const ssize_t n = write(peer.get(), said.data() + done, said.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

std::string converse(Sandbox& sandbox, const std::vector<std::string>& target, const std::string& words) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd theirs(ends[0]), ours(ends[1]);
  std::jthread forwarding([&] {
    const auto done = sandbox.forward(theirs.get(), target, {.deadline = Deadline::after(kPatience)});
    EXPECT_TRUE(done) << done.error().text();
    theirs.reset();
  });
  std::jthread speaking([&] {
    EXPECT_EQ(write(ours.get(), words.data(), words.size()), static_cast<ssize_t>(words.size()));
    shutdown(ours.get(), SHUT_WR);
  });
  std::string heard;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ours.get(), buffer, sizeof(buffer))) > 0;)
    heard.append(buffer, static_cast<std::size_t>(n));
  return heard;
}

TEST(Forward, ReachesATcpPortInsideInBothDirections) {
  auto sandbox = Sandbox::create(make_spec());
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  std::jthread server([&] { shout_back(listener); });
  std::string words(3'000'000, 'x'), capitals(3'000'000, 'X');
  EXPECT_TRUE(converse(*sandbox, {"tcp", "127.0.0.1", std::to_string(ntohs(address.sin_port))}, words) == capitals);
}

TEST(Forward, ReachesAUnixSocketInside) {
  auto sandbox = Sandbox::create(make_spec());
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  const std::string path = home().make_directory("sockets") + "/s";
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  std::jthread server([&] { shout_back(listener); });
  EXPECT_EQ(converse(*sandbox, {"unix", path}, "hello"), "HELLO");
}

TEST(Forward, APortWhereNobodyListensIsAnErrorWithItsName) {
  auto sandbox = Sandbox::create(make_spec());
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  const UniqueFd unused(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto done = sandbox->forward(unused.get(), {"unix", "/nowhere/at/all"});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("/nowhere/at/all"), std::string::npos) << done.error().message;
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cove::testing_helpers::home();
  return RUN_ALL_TESTS();
}
