// D: output, cases 53-56. Those about size are in output_size_test.cc.

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "conformance/fixture.h"
#include "helpers/program.h"

namespace cove::conformance {
namespace {

TEST_F(Contract, Case053_BothStreamsComeInTrueOrder) { EXPECT_RAN(sh("echo err >&2; echo out"), 0, "err\nout\n"); }

TEST_F(Contract, Case053_ABurstOf200AlternatingWritesKeepsItsOrder) {
  std::string expected;
  for (int i = 1; i <= 200; ++i) expected += "o" + std::to_string(i) + "\ne" + std::to_string(i) + "\n";
  EXPECT_RAN(sh("for i in {1..200}; do echo o$i; echo e$i >&2; done"), 0, expected);
}

TEST_F(Contract, Case053_ProgramsOfACommandKeepTheOrderToo) {
  std::string expected;
  for (int i = 1; i <= 20; ++i) expected += "o" + std::to_string(i) + "\ne" + std::to_string(i) + "\nx\ny\n";
  EXPECT_RAN(sh("for i in {1..20}; do /bin/echo o$i; /bin/echo e$i >&2; sh -c 'echo x; echo y >&2'; done"), 0,
             expected);
}

TEST_F(Contract, Case053_WhereTheStreamsAreToldApartEachIsWhole) {
  std::string out, err;
  for (int i = 1; i <= 200; ++i) out += "o" + std::to_string(i) + "\n", err += "e" + std::to_string(i) + "\n";
  const Ran burst = sh(CommandSpec{.script = "for i in {1..200}; do echo o$i; echo e$i >&2; done", .split = true});
  EXPECT_TRUE(burst.exited(0)) << printable(burst);
  EXPECT_EQ(burst.out, out);
  EXPECT_EQ(burst.err, err);
}

// Each is printed when the one before has arrived.
TEST_F(Contract, Case053_WhereTheStreamsAreToldApartWhatArrivedFirstComesFirst) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  const auto answer = [&](Stream, std::string_view) { EXPECT_EQ(write(out.get(), "\n", 1), 1); };
  const Ran ran = sh(CommandSpec{.script = "for i in 1 2 3; do echo o; read; echo e >&2; read; done", .split = true},
                     CommandIo{.output = answer, .stdin_fd = in.get()});
  EXPECT_RAN(ran, 0, "o\ne\no\ne\no\ne\n");
}

// The text that JSON needs, as `cove sh --json` makes it.
std::string json_output(Sandbox& sandbox, const std::string& script) {
  const auto done = testing_helpers::run_cove({"sh", "--json", sandbox.name(), "--", script});
  EXPECT_EQ(done.code, 0) << done.err;
  const auto parsed = nlohmann::json::parse(done.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << done.out;
  return parsed.is_object() ? parsed.value("output", "missing") : "not JSON";
}

TEST_F(Contract, Case054_InvalidUtf8IsReplacedOnlyInJsonAndSplitCharactersStayWhole) {
  EXPECT_RAN(sh("printf '\\xe2\\x82'"), 0, "\xe2\x82");
  EXPECT_EQ(json_output(sandbox(), "printf '\\xe2\\x82'"), "\xef\xbf\xbd");
  EXPECT_EQ(json_output(sandbox(), "printf '\\xe2'; sleep .1; printf '\\x82'; sleep .1; printf '\\xac'"),
            "\xe2\x82\xac");
  EXPECT_EQ(json_output(sandbox(), "printf 'a\\xffb'"),
            "a\xef\xbf\xbd"
            "b");
}

TEST_F(Contract, Case055_BytesAreKept) {
  EXPECT_RAN(sh("printf 'a\\0b'"), 0, std::string("a\0b", 3));
  EXPECT_RAN(sh("printf 'a\\rb\\r\\n'"), 0, "a\rb\r\n");
  EXPECT_RAN(sh("printf '\\033[31mred\\033[0m'"), 0, "\033[31mred\033[0m");
  std::string all, script = "printf '";
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    constexpr char kDigits[] = "01234567";
    script += {'\\', kDigits[byte >> 6], kDigits[byte >> 3 & 7], kDigits[byte & 7]};
  }
  EXPECT_RAN(sh(script + "'"), 0, all);
}

TEST_F(Contract, Case056_MuchOutputIsCompleteAndTheDirectoryIsStillKnown) {
  const Ran ran = sh("cd /; yes | head -c 300000");
  EXPECT_TRUE(ran.exited(0)) << printable(ran);
  ASSERT_EQ(ran.output.size(), 300000U);
  for (std::size_t i = 0; i < ran.output.size(); i += 2) ASSERT_EQ(ran.output.substr(i, 2), "y\n") << "at " << i;
  EXPECT_EQ(ran.outcome.output_bytes, 300000U);
  EXPECT_EQ(ran.outcome.cwd, "/");
}

}  // namespace
}  // namespace cove::conformance
