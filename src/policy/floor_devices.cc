#include <algorithm>
#include <array>

#include "policy/floor_rules.h"

namespace cove::policy {
namespace {

constexpr std::string_view kFileFirst = "write to a file, and let the person at the machine bring it where it belongs";
constexpr std::string_view kImageFirst = "use a file as the disk, or ask the person at the machine to do it";

bool is_device(const FloorCase& at, const Word& word) {
  const auto paths = at.paths(word);
  return std::any_of(paths.begin(), paths.end(), is_raw_device);
}

bool is_critical(const FloorCase& at, const Word& word) {
  const auto paths = at.paths(word);
  return std::any_of(paths.begin(), paths.end(), is_critical_file);
}

std::optional<Finding> erases(const FloorCase& at) {
  return Finding{"disk", "would erase what is on a disk (" + shown(at.call.command.name) + ")", kImageFirst};
}

// A file as the disk is fine; a variable may be anything.
bool names_disk(const FloorCase& at) {
  return std::any_of(at.call.operands.begin(), at.call.operands.end(), [&](const Word* word) {
    return is_device(at, *word) || word->kinds.find_first_of("$\"") != std::string::npos;
  });
}

enum class Append : unsigned char { no, yes };

std::optional<Finding> judge_target(const FloorCase& at, const Word& target, Append append) {
  if (is_device(at, target)) return Finding{"disk", "would write onto the device " + shown(target.text), kFileFirst};
  if (!is_critical(at, target)) return std::nullopt;
  if (append == Append::yes && target.text.find("sysrq") == std::string::npos) return std::nullopt;
  return Finding{"file", "would overwrite " + shown(target.text) + ", which this machine needs", kFileFirst};
}

std::optional<Finding> judge_redirections(const FloorCase& at) {
  using enum Redirection::Kind;
  for (const Redirection& each : at.call.command.redirections) {
    if (each.kind != write && each.kind != append && each.kind != read_write) continue;
    if (auto found = judge_target(at, each.target, each.kind == write ? Append::no : Append::yes)) return found;
  }
  return std::nullopt;
}

// `of=FILE` of dd.
std::optional<Finding> judge_dd(const FloorCase& at) {
  for (const Word* word : at.call.operands) {
    if (!word->text.starts_with("of=")) continue;
    const Word target{word->text.substr(3), word->kinds.substr(3)};
    if (auto found = judge_target(at, target, Append::no)) return found;
  }
  return std::nullopt;
}

// Any of the operands is written.
std::optional<Finding> judge_all(const FloorCase& at, Append append) {
  for (const Word* word : at.call.operands) {
    if (auto found = judge_target(at, *word, append)) return found;
  }
  return std::nullopt;
}

// The value of an option: `-o FILE`, `-oFILE`, `--output=FILE`.
std::optional<Finding> judge_option(const FloorCase& at, std::string_view letter, std::string_view word) {
  const std::vector<Word>& words = at.call.command.words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    std::optional<Finding> found;
    if ((text == letter || text == word) && i + 1 < words.size()) found = judge_target(at, words[i + 1], Append::no);
    const std::size_t skip = text.starts_with(std::string(word) + "=") ? word.size() + 1 : 0;
    if (skip > 0) found = judge_target(at, {text.substr(skip), words[i].kinds.substr(skip)}, Append::no);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Finding> judge_copy(const FloorCase& at) {
  if (at.call.operands.size() < 2) return std::nullopt;
  return judge_target(at, *at.call.operands.back(), Append::no);
}

std::optional<Finding> judge_removal(const FloorCase& at) {
  for (const Word* word : at.call.operands) {
    if (is_critical(at, *word))
      return Finding{"file", "would remove " + shown(word->text) + ", which this machine needs", kFileFirst};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> formats_disk(const FloorCase& at) {
  const std::string& name = at.call.command.name;
  const Call& call = at.call;
  bool erasing = false;
  if (name == "mkfs" || name.starts_with("mkfs.") || is_any(name, {"mke2fs", "mkswap", "newfs", "blkdiscard"})) {
    erasing = true;
  } else if (name == "wipefs") {
    erasing = call.has('a', "--all") || call.has('o', "--offset");
  } else if (name == "sgdisk") {
    erasing = call.has('Z', "--zap-all") || call.has('z', "--zap") || call.has('o', "--clear");
  } else if (name == "parted") {
    erasing = call.any_operand("mklabel") || call.any_operand("mktable") || call.any_operand("mkpart") ||
              call.any_operand("rm");
  } else if (name == "cryptsetup") {
    erasing = call.any_operand("luksFormat") || call.any_operand("erase") || call.any_operand("luksErase");
  } else if (name == "badblocks") {
    erasing = call.has('w');
  } else if (name == "hdparm") {
    erasing = call.has('\0', "--security-erase") || call.has('\0', "--security-erase-enhanced");
  } else if (name == "nvme") {
    erasing = call.first_is("format") || call.first_is("sanitize");
  } else if (name == "diskutil") {
    return !call.operands.empty() && call.operands[0]->text.starts_with("erase") ? erases(at) : std::nullopt;
  }
  if (name == "zpool" && call.first_is("destroy")) return erases(at);
  return erasing && !call.asks_for_help() && names_disk(at) ? erases(at) : std::nullopt;
}

std::optional<Finding> overwrites(const FloorCase& at) {
  const std::string& name = at.call.command.name;
  if (auto found = judge_redirections(at)) return found;
  if (is_any(name, {"dd", "dcfldd", "dc3dd"})) return judge_dd(at);
  if (name == "tee") return judge_all(at, at.call.has('a', "--append") ? Append::yes : Append::no);
  if (is_any(name, {"shred", "truncate", "sponge"})) return judge_all(at, Append::no);
  if (is_any(name, {"rm", "unlink"})) return judge_removal(at);
  if (name == "mv" && !at.call.operands.empty()) {
    if (auto found = judge_copy(at)) return found;
    return judge_removal(at);
  }
  if (is_any(name, {"cp", "install", "rsync"})) return judge_copy(at);
  if (name == "ln" && at.call.has('f', "--force")) return judge_copy(at);
  if (name == "curl") return judge_option(at, "-o", "--output");
  if (name == "wget") return judge_option(at, "-O", "--output-document");
  return std::nullopt;
}

}  // namespace cove::policy
