#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "mcp/bounded.h"
#include "mcp/handlers.h"
#include "mcp/read_limited.h"

namespace cove::mcp {
namespace {

constexpr std::uint64_t kMostFile = std::uint64_t{16} << 20;  // read into memory

Call limited(const ToolCall& call) {
  return {.deadline = Deadline::after(std::chrono::seconds(60)), .stop = call.stop};
}

Result<std::string> read_whole(Sandbox& sandbox, const std::string& path, const ToolCall& call) {
  COVE_TRY(std::string bytes, read_limited(sandbox, path, kMostFile + 1, limited(call)));
  if (bytes.size() > kMostFile)
    return fail(Errc::unsupported, path + " is larger than 16 MiB: use a command instead, such as sed");
  return bytes;
}

struct Lines {
  std::string_view text;
  std::uint64_t first = 1, last = 0;  // last: below `first` if there are none
  bool cut = false;
};

// Whole lines as long as they fit; of one that does not, its beginning.
Lines cut_lines(std::string_view text, std::uint64_t first, std::uint64_t count, std::size_t room) {
  std::size_t begin = 0;
  Lines lines{.first = first, .last = first - 1};
  for (std::uint64_t skip = 1; skip < first && begin < text.size(); ++skip)
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  std::size_t end = begin;
  while (end < text.size() && lines.last - lines.first + 1 < count && !lines.cut) {
    const std::size_t next = std::min(text.find('\n', end), text.size() - 1) + 1;
    lines.cut = next - begin > room;
    if (lines.cut && end > begin) break;
    end = lines.cut ? begin + room - incomplete_tail(text.substr(begin, room)) : next;
    ++lines.last;
  }
  lines.text = text.substr(begin, end - begin);
  lines.cut = lines.cut || end < text.size();
  return lines;
}

std::uint64_t count_lines(std::string_view text) {
  const auto breaks = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  return breaks + (!text.empty() && !text.ends_with('\n') ? 1 : 0);
}

std::size_t replace_all(std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  std::size_t count = 0, begin = 0;
  for (std::size_t at = 0; (at = text.find(from, begin)) != std::string::npos; begin = at + from.size(), ++count)
    out += text.substr(begin, at - begin) + to;
  text = out + text.substr(begin);
  return count;
}

// Of overlapping ones, each: "aa" is twice in "aaa", so which one is meant is not clear.
std::size_t count_matches(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string_view type_name(proto::FileType type) {
  switch (type) {
    case proto::FileType::file: return "file";
    case proto::FileType::directory: return "directory";
    case proto::FileType::symlink: return "symlink";
    case proto::FileType::other: break;
  }
  return "other";
}

}  // namespace

Result<ToolResult> read_file(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], limited(call)));
  const auto path = arguments["path"].get<std::string>();
  COVE_TRY(const std::string bytes, read_limited(*sandbox, path, kMostFile, limited(call)));
  const Lines lines = cut_lines(bytes, arguments.value("start_line", std::uint64_t{1}),
                                arguments.value("max_lines", std::uint64_t{2000}), std::size_t{256} << 10);
  return ToolResult{.structured = Json{{"path", path},
                                       {"content", to_utf8(lines.text)},
                                       {"start_line", lines.first},
                                       {"end_line", lines.last},
                                       {"total_lines", count_lines(bytes)},
                                       {"truncated", lines.cut || bytes.size() == kMostFile}}};
}

Result<ToolResult> write_file(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], limited(call)));
  const auto path = arguments["path"].get<std::string>();
  const auto content = arguments["content"].get<std::string>();
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0)
    COVE_CHECK(sandbox->make_directory(path.substr(0, slash), limited(call)));
  const std::uint32_t mode = arguments.value("executable", false) ? 0755 : 0644;
  COVE_CHECK(sandbox->write_file(path, content, mode, limited(call)));
  return ToolResult{.structured = Json{{"path", path}, {"bytes", content.size()}}};
}

Result<ToolResult> edit_file(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], limited(call)));
  const auto path = arguments["path"].get<std::string>();
  const auto old_text = arguments["old_text"].get<std::string>();
  COVE_TRY(std::string text, read_whole(*sandbox, path, call));
  const std::size_t matches = count_matches(text, old_text);
  if (matches == 0) return fail(Errc::not_found, "old_text is not in " + path + ": it must match exactly, spaces too");
  if (matches > 1 && !arguments.value("replace_all", false))
    return fail(Errc::conflict, "old_text is " + std::to_string(matches) + " times in " + path +
                                    ": give more of what is around it, or replace_all");
  const std::size_t replaced = replace_all(text, old_text, arguments["new_text"].get<std::string>());
  COVE_CHECK(sandbox->write_file(path, text, 0644, limited(call)));
  return ToolResult{.structured = Json{{"path", path}, {"replacements", replaced}}};
}

Result<ToolResult> list_files(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], limited(call)));
  const std::string path = arguments.value("path", ".");
  COVE_TRY(auto found, sandbox->list_files(path, limited(call)));
  std::sort(found.begin(), found.end(), [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  constexpr std::size_t kMost = 1000;
  Json entries = Json::array();
  for (std::size_t i = 0; i < std::min(found.size(), kMost); ++i) {
    const FileInfo& file = found[i];
    Json entry = {{"name", to_utf8(file.name)},
                  {"type", type_name(file.type)},
                  {"size", file.size},
                  {"modified_unix", file.mtime_ns / 1'000'000'000}};
    if (!file.link_target.empty()) entry["link_target"] = to_utf8(file.link_target);
    entries.push_back(std::move(entry));
  }
  return ToolResult{.structured =
                        Json{{"path", path}, {"entries", std::move(entries)}, {"truncated", found.size() > kMost}}};
}

}  // namespace cove::mcp
