#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "mcp/handlers.h"

namespace cove::mcp {
namespace {

// find and grep of the sandbox, with what both busybox and GNU understand.
std::vector<std::string> search_words(const Json& arguments) {
  std::string path = arguments.value("path", ".");
  if (path.starts_with('-')) path.insert(0, "./");
  std::vector<std::string> words{"find", path, "-name", ".git", "-prune", "-o", "-type", "f"};
  if (arguments.contains("glob")) words.insert(words.end(), {"-name", arguments["glob"].get<std::string>()});
  if (!arguments.contains("pattern")) {
    words.emplace_back("-print");
    return words;
  }
  words.insert(words.end(), {"-exec", "grep", "-nHI", arguments.value("regex", false) ? "-E" : "-F"});
  if (arguments.value("ignore_case", false)) words.emplace_back("-i");
  words.insert(words.end(), {"-e", arguments["pattern"].get<std::string>(), "--", "{}", "+"});
  return words;
}

// "PATH:LINE:TEXT"; a path with such a thing in it is cut at the first.
Json match_of(std::string_view line) {
  for (std::size_t at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
    std::uint64_t number = 0;
    const char* begin = line.data() + at + 1;
    const auto [end, error] = std::from_chars(begin, line.data() + line.size(), number);
    if (error != std::errc() || end == line.data() + line.size() || *end != ':') continue;
    const std::string_view text = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
    return {{"path", to_utf8(line.substr(0, at))}, {"line", number}, {"text", to_utf8(text.substr(0, 1000))}};
  }
  return {{"path", to_utf8(line)}};
}

// Lines as they come; when there are enough of them the search is ended.
class Matches {
 public:
  Matches(std::size_t most, Control& control) : most_(most), control_(control) {}
  void add(std::string_view bytes) {
    while (!bytes.empty() && !full_) {
      const std::size_t end = bytes.find('\n');
      if (line_.size() < kMostLine) line_ += bytes.substr(0, std::min(end, kMostLine));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      take_line();
    }
  }
  Json json = Json::array();
  bool full() const { return full_; }

 private:
  static constexpr std::size_t kMostLine = 8192;
  void take_line() {
    if (json.size() == most_) {
      full_ = true;
      return control_.interrupt();
    }
    json.push_back(match_of(line_));
    line_.clear();
  }

  const std::size_t most_;
  Control& control_;
  std::string line_;
  bool full_ = false;
};

}  // namespace

Result<ToolResult> search_files(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  if (!arguments.contains("pattern") && !arguments.contains("glob"))
    return fail(Errc::invalid, "give a pattern, a glob, or both");
  Control control;
  Matches matches(arguments.value("max_matches", std::size_t{200}), control);
  std::string complaints;
  CommandSpec command;
  command.argv = search_words(arguments);
  command.timeout = std::chrono::seconds(60);
  command.split = true;
  command.end_with_client = true;
  CommandIo io;
  io.control = &control;
  io.output = [&](Stream stream, std::string_view bytes) {
    if (stream == Stream::out) return matches.add(bytes);
    if (complaints.size() < 2000) complaints += bytes.substr(0, 2000);
  };
  COVE_TRY(const Outcome outcome, sandbox->run(command, io, {.stop = call.stop}));
  const bool ended = outcome.ending == Ending::exited;
  if (matches.json.empty() && (!ended || !complaints.empty()))
    return fail(Errc::invalid, "the search failed: " + to_utf8(complaints.empty() ? outcome.detail : complaints));
  return ToolResult{.structured = Json{{"matches", std::move(matches.json)}, {"truncated", matches.full() || !ended}}};
}

}  // namespace cove::mcp
