#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "changes/lines.h"
#include "changes/text.h"
#include "changes/versions.h"

namespace cove::changes {
namespace {

using nlohmann::json;

struct Row {
  std::string name, value;
  std::uint64_t added = 0, removed = 0;
};

Row row_of(const Change& change) {
  Row row{.name = quote_path(change.path),
          .added = change.lines_added.value_or(0),
          .removed = change.lines_removed.value_or(0)};
  if (change.kind == Kind::other || change.kind_before == Kind::other) {
    row.value = "special";
  } else if (change.binary || !change.lines_added) {
    row.value = "Bin " + std::to_string(change.size_before) + " -> " + std::to_string(change.size) + " bytes";
  } else {
    row.value = std::to_string(row.added + row.removed);
  }
  return row;
}

std::uint64_t scaled(std::uint64_t part, std::uint64_t most, std::uint64_t room) {
  if (most <= room || part == 0) return part;
  return std::max<std::uint64_t>(1, part * room / most);
}

std::string plural(std::uint64_t count, const std::string& one, const std::string& more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

// A stranger's lines can be as many as he likes; widths are in bytes, as names are quoted to ASCII.
std::string line_of(const Row& row, std::size_t name_width, std::size_t value_width, std::uint64_t most,
                    std::size_t room) {
  std::string line = " " + row.name + std::string(name_width - std::min(name_width, row.name.size()), ' ') + " | ";
  if (row.value.starts_with("Bin") || row.value == "special") return line + row.value + "\n";
  line += std::string(value_width - row.value.size(), ' ') + row.value;
  const auto plus = static_cast<std::size_t>(scaled(row.added, most, room));
  const auto minus = static_cast<std::size_t>(scaled(row.removed, most, room));
  if (plus + minus > 0) line += " " + std::string(plus, '+') + std::string(minus, '-');
  return line + "\n";
}

std::string sum_of(const std::vector<Row>& rows) {
  std::uint64_t added = 0, removed = 0;
  for (const Row& row : rows) added += row.added, removed += row.removed;
  std::string text = " " + plural(rows.size(), "file changed", "files changed");
  if (added > 0) text += ", " + plural(added, "insertion(+)", "insertions(+)");
  if (removed > 0) text += ", " + plural(removed, "deletion(-)", "deletions(-)");
  return text + "\n";
}

void count(Change& change, const Version& before, const Version& after) {
  if (!before.shown || !after.shown) return;
  change.binary = is_binary(before) || is_binary(after);
  if (change.binary) return;
  change.lines_added = change.lines_removed = 0;
  if (!change.contents) return;
  const auto a = split_lines(before.text), b = split_lines(after.text);
  for (const Edit& edit : diff_lines(a, b)) {
    *change.lines_removed += edit.a_end - edit.a_begin;
    *change.lines_added += edit.b_end - edit.b_begin;
  }
}

json mode_text(mode_t mode) {
  std::string text = "0000";
  for (std::size_t i = text.size(); i-- > 0; mode >>= 3U) text[i] = static_cast<char>('0' + (mode & 7U));
  return text;
}

template <class T>
json or_null(bool there, const T& value) {
  return there ? json(value) : json();
}

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

json json_of(const Change& change) {
  const bool before = change.what != Change::What::added, after = change.what != Change::What::removed;
  json row{{"path", change.path},
           {"change", name(change.what)},
           {"kind", name(change.kind)},
           {"size_before", or_null(before, change.size_before)},
           {"size", or_null(after, change.size)},
           {"mode_before", before ? mode_text(change.mode_before) : json()},
           {"mode", after ? mode_text(change.mode) : json()},
           {"lines_added", or_null(change.lines_added.has_value(), change.lines_added.value_or(0))},
           {"lines_removed", or_null(change.lines_removed.has_value(), change.lines_removed.value_or(0))},
           {"binary", change.binary}};
  if (change.kind != change.kind_before) row["kind_before"] = name(change.kind_before);
  if (change.not_listed > 0) row["not_listed"] = change.not_listed;
  if (before && after && (change.uid != change.uid_before || change.gid != change.gid_before)) {
    row["owner_before"] = std::to_string(change.uid_before) + ":" + std::to_string(change.gid_before);
    row["owner"] = std::to_string(change.uid) + ":" + std::to_string(change.gid);
  }
  if (!is_utf8(change.path)) row["path_hex"] = hex(change.path);
  return row;
}

}  // namespace

Result<void> count_lines(const States& states, std::vector<Change>& changes, const TextLimits& limits) {
  COVE_TRY(auto versions, Versions::open(states, limits));
  for (Change& change : changes) {
    const bool text = (change.what != Change::What::added && has_text(change.kind_before)) ||
                      (change.what != Change::What::removed && has_text(change.kind));
    if (!text) continue;
    COVE_TRY(const auto before, versions.before(change));
    COVE_TRY(const auto after, versions.after(change));
    count(change, before, after);
  }
  return {};
}

std::string stat_text(const std::vector<Change>& changes, std::size_t width) {
  std::vector<Row> rows;
  for (const Change& change : changes) {
    if (change.kind != Kind::directory || change.kind_before != Kind::directory) rows.push_back(row_of(change));
  }
  std::size_t name_width = 0, value_width = 0;
  std::uint64_t most = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    if (!row.value.starts_with("Bin") && row.value != "special") value_width = std::max(value_width, row.value.size());
    most = std::max(most, row.added + row.removed);
  }
  const std::size_t taken = name_width + value_width + 5;
  const std::size_t room = width > taken + 10 ? width - taken : 10;
  std::string text;
  for (const Row& row : rows) text += line_of(row, name_width, value_width, most, room);
  return text + sum_of(rows);
}

std::string to_json(const std::vector<Change>& changes) {
  json rows = json::array();
  for (const Change& change : changes) rows.push_back(json_of(change));
  return json_text(rows, 2);
}

}  // namespace cove::changes
