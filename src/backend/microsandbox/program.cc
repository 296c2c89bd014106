#include "backend/microsandbox/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

extern char** environ;

namespace cove::microsandbox {
namespace {

using namespace std::chrono_literals;

constexpr auto kShort = 10s, kRemoval = 30s;

// "error: the reason\n  → a hint" in one line.
std::string words_of(const std::string& said) {
  std::vector<std::string> parts;
  for (const std::string& line : engine::lines_of(said)) {
    const std::size_t begin = line.starts_with("error: ") ? 7 : line.find_first_not_of(' ');
    if (begin < line.size()) parts.push_back(line.substr(begin));
  }
  std::string text = parts.empty() ? "it did not say why" : "";
  for (const std::string& part : parts) text.append(text.empty() ? "" : "; ").append(part);
  return text;
}

std::vector<std::string> own_variables() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("MSB_")) all.emplace_back(*entry);
  }
  return all;
}

}  // namespace

Result<Msb> Msb::find() {
  const char* given = std::getenv("MSB_PATH");
  std::string path = given != nullptr ? given : "";
  if (path.empty()) {
    const auto found = engine::Program::find("msb", "");
    if (!found) {
      return fail(Errc::unsupported,
                  "msb is not installed here: 'npm install microsandbox' brings it; name its program in MSB_PATH");
    }
    path = found->path();
  }
  if (!path.starts_with('/') || access(path.c_str(), X_OK) != 0)
    return fail(Errc::not_found, "MSB_PATH " + path + ": there is no such program");
  return Msb(engine::Program("msb", path, own_variables()));
}

Result<std::string> Msb::ask(const std::vector<std::string>& words, Deadline deadline) const {
  COVE_TRY(engine::Said said, program_.run(words, deadline));
  if (said.code == 0) return std::move(said.out);
  return fail(Errc::disconnected, "msb " + words[0] + " failed: " + words_of(said.err));
}

Result<std::string> Msb::version() const {
  auto text = ask({"--version"}, Deadline::after(kShort));
  if (!text) return text;
  if (!text->starts_with("msb ")) return fail(Errc::protocol, program_.path() + " does not answer as msb does");
  return text->substr(4, text->find('\n') - 4);
}

Result<Takes> Msb::takes() const {
  COVE_TRY(const std::string create, ask({"create", "--help"}, Deadline::after(kShort)));
  COVE_TRY(const std::string exec, ask({"exec", "--help"}, Deadline::after(kShort)));
  return read_help(create, exec);
}

Result<bool> Msb::has(const std::string& name) const {
  COVE_TRY(const std::string listed, ask({"ls", "--quiet"}, Deadline::after(kShort)));
  const auto names = engine::lines_of(listed);
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> Msb::remove(const std::string& name) const {
  auto removed = ask({"remove", "--force", "--quiet", name}, Deadline::after(kRemoval));
  if (removed) return {};
  COVE_TRY(const bool there, has(name));
  if (there) return fail(std::move(removed).error());
  return {};
}

}  // namespace cove::microsandbox
