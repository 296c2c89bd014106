#include <algorithm>

#include "changes/lines.h"
#include "changes/text.h"
#include "changes/versions.h"

namespace cove::changes {
namespace {

// What git has of a mode.
std::string git_mode(Kind kind, mode_t mode) {
  if (kind == Kind::symlink) return "120000";
  return (mode & 0100U) != 0 ? "100755" : "100644";
}

std::string octal(mode_t mode) {
  std::string text = "0000";
  for (std::size_t i = text.size(); i-- > 0; mode >>= 3U) text[i] = static_cast<char>('0' + (mode & 7U));
  return text;
}

// A name with a space ends with a tab, so that it is not taken for a name and a time.
std::string header_name(const std::string& path) {
  return quote_path(path) + (path.find(' ') != std::string::npos ? "\t" : "");
}

std::string command_line(const std::string& path) {
  return "diff --git " + quote_path("a/" + path) + " " + quote_path("b/" + path) + "\n";
}

std::string remark(const Change& change) {
  const std::string path = quote_path(change.path);
  if (change.what == Change::What::added) return "Special file " + path + " was added\n";
  if (change.what == Change::What::removed) return "Special file " + path + " was removed\n";
  return "Special file " + path + " has changed\n";
}

std::string differ(const Change& change, const Version& before, const Version& after) {
  const std::string a = before.there ? quote_path("a/" + change.path) : "/dev/null";
  const std::string b = after.there ? quote_path("b/" + change.path) : "/dev/null";
  const bool binary = before.shown && after.shown;
  return (binary ? "Binary files " : "Large files ") + a + " and " + b + " differ (" +
         std::to_string(change.size_before) + " and " + std::to_string(change.size) + " bytes)\n";
}

std::string hunks(const Change& change, const Version& before, const Version& after) {
  std::string text = unified(before.text, after.text);
  if (text.empty()) return text;
  return "--- " + (before.there ? header_name("a/" + change.path) : "/dev/null") + "\n+++ " +
         (after.there ? header_name("b/" + change.path) : "/dev/null") + "\n" + text;
}

bool showable(const Version& version) { return version.shown && !is_binary(version); }

std::string created(const Change& change, const Version& after) {
  if (!showable(after)) return differ(change, {}, after);
  return command_line(change.path) + "new file mode " + git_mode(change.kind, change.mode) + "\n" +
         hunks(change, {}, after);
}

std::string deleted(const Change& change, const Version& before) {
  if (!showable(before)) return differ(change, before, {});
  return command_line(change.path) + "deleted file mode " + git_mode(change.kind_before, change.mode_before) + "\n" +
         hunks(change, before, {});
}

std::string modified(const Change& change, const Version& before, const Version& after) {
  const std::string old_mode = git_mode(change.kind, change.mode_before), mode = git_mode(change.kind, change.mode);
  std::string text;
  if (old_mode == mode && change.mode != change.mode_before && change.kind == Kind::file) {
    text = "Mode of " + quote_path(change.path) + " was " + octal(change.mode_before) + " and is " +
           octal(change.mode) + "\n";
  }
  const bool shown = showable(before) && showable(after);
  if (!shown && change.contents) text += differ(change, before, after);
  const std::string changed = shown ? hunks(change, before, after) : "";
  if (old_mode == mode && changed.empty()) return text;
  text += command_line(change.path);
  if (old_mode != mode) text += "old mode " + old_mode + "\nnew mode " + mode + "\n";
  return text + changed;
}

// One change is up to two sections: what is replaced by something else goes, then the other comes.
enum class Part : unsigned char { whole, going, coming };
struct Section {
  std::string key;  // sorts what comes in place of a directory behind the files that go from it
  const Change* change;
  Part part;
};

std::vector<Section> sections_of(const std::vector<Change>& changes) {
  std::vector<Section> sections;
  for (const Change& change : changes) {
    if (change.what == Change::What::changed && change.kind != change.kind_before) {
      sections.push_back({.key = change.path, .change = &change, .part = Part::going});
      const bool was_directory = change.kind_before == Kind::directory;
      sections.push_back(
          {.key = change.path + (was_directory ? "/\xff" : ""), .change = &change, .part = Part::coming});
    } else {
      sections.push_back({.key = change.path, .change = &change, .part = Part::whole});
    }
  }
  std::stable_sort(sections.begin(), sections.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return sections;
}

Result<std::string> text_of(Versions& versions, const Section& section, const std::string& below) {
  const Change& change = *section.change;
  const Kind kind = section.part == Part::going ? change.kind_before : change.kind;
  if (kind == Kind::directory) return "";
  if (kind == Kind::other) return remark(change);
  Version before, after;
  if (section.part != Part::coming) {
    COVE_TRY(before, versions.before(change));
  }
  if (section.part != Part::going) {
    COVE_TRY(after, versions.after(change));
  }
  Change named = change;
  named.path = below + change.path;
  if (!before.there) return created(named, after);
  return after.there ? modified(named, before, after) : deleted(named, before);
}

}  // namespace

Result<void> write_patch(const States& states, const std::vector<Change>& changes, const Sink& sink,
                         const TextLimits& limits) {
  COVE_TRY(auto versions, Versions::open(states, limits));
  for (const Section& section : sections_of(changes)) {
    COVE_TRY(const auto text, text_of(versions, section, states.below));
    if (!text.empty()) COVE_CHECK(sink(text));
  }
  return {};
}

}  // namespace cove::changes
