#include <algorithm>
#include <array>

#include "policy/floor_rules.h"

namespace cove::policy {
namespace {

constexpr std::string_view kNameIt = "name what is meant below it";

std::string_view words_for(Guarded what) {
  switch (what) {
    case Guarded::root: return "the whole file system of this machine";
    case Guarded::system: return "a directory that this machine needs";
    case Guarded::home: return "a home directory";
    case Guarded::none: break;
  }
  return "";
}

Guarded worst(const FloorCase& at, const Word& word) {
  Guarded found = Guarded::none;
  for (const PathPattern& path : at.paths(word)) {
    if (const Guarded each = guarded(path, at.where); each != Guarded::none) found = each;
  }
  return found;
}

std::optional<Finding> refuse(std::string_view verb, Guarded what) {
  if (what == Guarded::none) return std::nullopt;
  return Finding{"remove", "would " + std::string(verb) + " " + std::string(words_for(what)), kNameIt};
}

// Without -r directories stay, but on most machines /bin and /lib are links, which `rm /*` removes.
std::optional<Finding> judge_rm(const FloorCase& at) {
  const bool recursive = at.call.has('r', "--recursive") || at.call.has('R');
  for (const Word* word : at.call.operands) {
    const bool glob = word->kinds.find('*') != std::string::npos;
    if (!recursive && !glob) continue;
    const Guarded what = worst(at, *word);
    if (!recursive && what != Guarded::system) continue;
    if (auto found = refuse("remove", what)) return found;
  }
  return std::nullopt;
}

// Tests that choose files; `find / -type f -delete` chooses nothing.
bool chooses(const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 22> kTests{
      "-name",  "-iname", "-path",  "-ipath", "-regex", "-iregex", "-user",  "-group", "-uid",   "-gid",  "-nouser",
      "-mtime", "-mmin",  "-atime", "-amin",  "-ctime", "-cmin",   "-newer", "-size",  "-empty", "-inum", "-perm"};
  return std::any_of(words.begin(), words.end(), [&](const Word& word) {
    return std::find(kTests.begin(), kTests.end(), word.text) != kTests.end();
  });
}

bool find_removes(const std::vector<Word>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].text == "-delete") return true;
    const bool runs = words[i].text.starts_with("-exec") && i + 1 < words.size();
    if (!runs) continue;
    const std::string& name = words[i + 1].text;
    const std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
    if (base == "rm" || base == "shred" || base == "unlink") return true;
  }
  return false;
}

std::optional<Finding> judge_find(const FloorCase& at) {
  const std::vector<Word>& words = at.call.command.words;
  if (!find_removes(words) || chooses(words)) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "-H" || text == "-L" || text == "-P") continue;
    if (text.starts_with('-') || text == "!" || text == "(") break;
    if (auto found = refuse("empty", worst(at, words[i]))) return found;
  }
  return std::nullopt;
}

std::optional<Finding> judge_mv(const FloorCase& at) {
  const std::size_t sources = at.call.operands.size() - (at.call.has('t', "--target-directory") ? 0 : 1);
  for (std::size_t i = 0; i < sources && i < at.call.operands.size(); ++i) {
    if (auto found = refuse("move away", worst(at, *at.call.operands[i]))) return found;
  }
  return std::nullopt;
}

// Whoever brings a home directory back with --delete may mean it.
std::optional<Finding> judge_rsync(const FloorCase& at) {
  const auto deletes = [](std::string_view option) { return option.starts_with("--del"); };
  if (std::none_of(at.call.options.begin(), at.call.options.end(), deletes)) return std::nullopt;
  const Guarded what = worst(at, *at.call.operands.back());
  return what == Guarded::home ? std::nullopt : refuse("empty", what);
}

}  // namespace

std::optional<Finding> removes_system(const FloorCase& at) {
  const std::string& name = at.call.command.name;
  if (at.call.operands.empty()) return std::nullopt;
  if (name == "rm" || name == "srm") return judge_rm(at);
  if (name == "find") return judge_find(at);
  if (name == "mv") return judge_mv(at);
  if (name == "rsync") return judge_rsync(at);
  return std::nullopt;
}

std::optional<Finding> changes_permissions(const FloorCase& at) {
  const std::string& name = at.call.command.name;
  const bool changes = name == "chmod" || name == "chown" || name == "chgrp" || name == "setfacl" || name == "chattr";
  if (!changes || !at.call.has('R', "--recursive")) return std::nullopt;
  for (const Word* word : at.call.operands) {
    const Guarded what = worst(at, *word);
    if (what != Guarded::root && what != Guarded::system) continue;
    return Finding{"permissions", "would change who may use " + std::string(words_for(what)), kNameIt};
  }
  return std::nullopt;
}

}  // namespace cove::policy
