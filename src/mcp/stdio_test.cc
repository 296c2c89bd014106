#include "mcp/stdio.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/unique_fd.h"

namespace cove::mcp {
namespace {

struct Pipe {
  UniqueFd read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) read.reset(ends[0]), write.reset(ends[1]);
  }
};

std::vector<Tool> tools() {
  return {{"wait", "Wait", "Waits to be stopped", Json::object(), {}, {}, [](const Json&, const ToolCall& call) {
             while (!call.stop.stop_requested()) std::this_thread::yield();
             return Result<ToolResult>(ToolResult{.structured = Json::object()});
           }}};
}

std::vector<Json> read_all(int fd) {
  std::string text, buffer(65536, '\0');
  for (ssize_t n = 0; (n = read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer, 0, static_cast<std::size_t>(n));
  std::vector<Json> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(Json::parse(text.substr(begin, end - begin)));
  return lines;
}

// Everything that a client says, then its end.
std::vector<Json> converse(const std::string& said) {
  Pipe in, out;
  Server server(tools(), {});
  std::thread writer([&] {
    [[maybe_unused]] const bool all =
        write(in.write.get(), said.data(), said.size()) == static_cast<ssize_t>(said.size());
    in.write.reset();
  });
  std::thread serving([&] {
    serve_stdio(server, {.in = in.read.get(), .out = out.write.get()});
    out.write.reset();
  });
  auto lines = read_all(out.read.get());
  writer.join();
  serving.join();
  return lines;
}

const std::string kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";

TEST(McpStdio, EachLineIsAMessage) {
  const auto lines = converse(kPing + "\r\n\n" + kPing + "\n" + kPing);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["id"], 1);
}

TEST(McpStdio, ALineThatIsTooLongIsRefusedAndTheNextOneServed) {
  const auto lines = converse(std::string(kMostMessage + 100, 'x') + "\n" + kPing + "\n");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["error"]["code"], kInvalidRequest);
  EXPECT_EQ(lines[1]["id"], 1);
}

TEST(McpStdio, BrokenLinesAreAnsweredWithoutAnId) {
  const auto lines = converse("{\n" + kPing + "\n");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["error"]["code"], kParseError);
  EXPECT_TRUE(lines[0]["id"].is_null());
}

TEST(McpStdio, TheEndOfTheClientEndsItsCalls) {
  const auto lines = converse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}})"
                              "\n");
  EXPECT_TRUE(lines.empty());
}

TEST(McpStdio, AClientThatDoesNotReadCannotHoldUsWhenWeAreToldToEnd) {
  Pipe in, out, stop;
  Server server(tools(), {});
  std::thread serving(
      [&] { serve_stdio(server, {.in = in.read.get(), .out = out.write.get(), .stop = stop.read.get()}); });
  std::string many;
  for (int i = 0; i < 3000; ++i) many += kPing + "\n";
  // More answers than the pipe holds.
  fcntl(out.write.get(), F_SETPIPE_SZ, 4096);
  fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  [[maybe_unused]] const ssize_t n = write(in.write.get(), many.data(), many.size());
  EXPECT_EQ(write(stop.write.get(), "x", 1), 1);
  serving.join();
}

}  // namespace
}  // namespace cove::mcp
