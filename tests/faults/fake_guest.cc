// A guest that lies, in the way that the name of the file it was started as says. Trust ends at the channel: whatever
// comes out of here, the keeper must report it, stay whole and end in time.

#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>

#include "proto/frame.h"
#include "proto/guest.h"

namespace {

using namespace cove;
using namespace cove::proto;

constexpr int kChannel = 3;

void say(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = send(kChannel, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done <= 0) _exit(0);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

template <class Payload>
void say(GuestType type, std::uint32_t id, const Payload& payload) {
  ByteQueue out;
  append_message(out, static_cast<std::uint8_t>(type), id, encode(payload));
  say(out.view());
}

void say_raw(GuestType type, std::uint32_t id, std::string_view payload) {
  ByteQueue out;
  append_message(out, static_cast<std::uint8_t>(type), id, payload);
  say(out.view());
}

// Lives as long as the channel, as an honest guest does.
void stay() {
  char bytes[4096];
  while (read(kChannel, bytes, sizeof(bytes)) > 0) {}
}

void stay_for_ever() {
  while (true) pause();
}

// The id of the next command that we are told to start.
std::uint32_t wait_for_start(MessageReader& reader) {
  while (true) {
    auto message = reader.next();
    if (!message) _exit(1);
    if (*message) {
      if ((*message)->type == static_cast<std::uint8_t>(GuestType::start)) return (*message)->id;
      continue;
    }
    const auto space = reader.space();
    const ssize_t got = read(kChannel, space.data(), space.size());
    if (got <= 0) _exit(0);
    reader.filled(static_cast<std::size_t>(got));
  }
}

void greet() { say(GuestType::hello, 0, GuestHello{.pid = static_cast<std::uint32_t>(getpid()), .shell = "bash"}); }

std::uint32_t greet_and_wait() {
  static MessageReader reader;
  greet();
  return wait_for_start(reader);
}

void noise(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  say(text);
}

const std::map<std::string, void (*)()> kLies = {
    {"ends-at-once", [] { _exit(0); }},
    {"crashes", [] { __builtin_trap(); }},
    {"says-nothing", stay},
    {"does-not-go", [] { greet(), stay_for_ever(); }},
    {"lies-and-does-not-go", [] { greet_and_wait(), noise(1 << 20), stay_for_ever(); }},
    {"noise-first", [] { noise(1 << 20), stay(); }},
    {"noise-after-hello", [] { greet(), noise(1 << 20), stay(); }},
    {"huge-length", [] { say(std::string("\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00", 12)), stay(); }},
    {"endless-message",
     [] {
       greet();
       std::string frame("\x00\x00\x04\x00\x06\x01\x00\x00\x01\x00\x00\x00", 12);
       frame += std::string(std::size_t{256} << 10, 'x');
       while (true) say(frame);
     }},
    {"wrong-version", [] { say(GuestType::hello, 0, GuestHello{.version = 999}), stay(); }},
    {"unknown-type", [] { greet(), say_raw(static_cast<GuestType>(200), 0, "x"), stay(); }},
    {"keepers-own-type", [] { greet(), say_raw(GuestType::start, 1, "x"), stay(); }},
    {"hello-twice", [] { greet(), greet(), stay(); }},
    {"short-payload", [] { say_raw(GuestType::exited, greet_and_wait(), "x"), stay(); }},
    {"unknown-id", [] { greet_and_wait(), say(GuestType::exited, 4711, Exited{}), stay(); }},
    {"output-of-nobody", [] { greet_and_wait(), say_raw(GuestType::output_out, 4711, "lies"), stay(); }},
    {"exits-twice",
     [] {
       const auto id = greet_and_wait();
       say(GuestType::started, id, Started{.pid = 1});
       say(GuestType::exited, id, Exited{});
       say(GuestType::exited, id, Exited{.exit_code = 7});
       stay();
     }},
    {"output-after-gone",
     [] {
       const auto id = greet_and_wait();
       say(GuestType::started, id, Started{.pid = 1});
       say(GuestType::exited, id, Exited{});
       say_raw(GuestType::gone, id, "");
       say_raw(GuestType::output_out, id, "ghost");
       stay();
     }},
    {"ignores-credit",
     [] {
       const auto id = greet_and_wait();
       say(GuestType::started, id, Started{.pid = 1});
       const std::string much(64 << 10, 'x');
       while (true) say_raw(GuestType::output_out, id, much);
     }},
    {"endless-credit",
     [] {
       const auto id = greet_and_wait();
       say(GuestType::started, id, Started{.pid = 1});
       for (int i = 0; i < 100; ++i) say(GuestType::stdin_credit, id, Credit{.bytes = 0xffffffffU});
       stay();
     }},
    {"never-exits",
     [] {
       say(GuestType::started, greet_and_wait(), Started{.pid = 1});
       stay();
     }},
};

}  // namespace

int main() {
  const std::string path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const auto lie = kLies.find(path.substr(path.rfind('/') + 1));
  if (lie == kLies.end()) return 2;
  lie->second();
}
