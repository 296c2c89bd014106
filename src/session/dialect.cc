#include "session/dialect.h"

#include <algorithm>

#include "session/declarations.h"

namespace cove::session {

std::string without_names(std::string_view variables, const std::vector<std::string>& names) {
  std::string kept;
  for (const Declaration& entry : split_declarations(variables)) {
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) kept.append(entry.text).append("\n");
  }
  return kept;
}

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted += '\'';
}

std::string quote_path(std::string_view path) {
  if (path.empty() || path[0] != '~') return quote(path);
  const std::string_view tilde = path.substr(0, path.find('/'));
  const bool plain = std::all_of(tilde.begin() + 1, tilde.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
  if (!plain) return quote(path);
  const std::string_view rest = path.substr(tilde.size());
  return rest.size() <= 1 ? std::string(path) : std::string(tilde) + "/" + quote(rest.substr(1));
}

std::optional<std::string_view> take_part(std::string_view& capture) {
  const std::size_t end = capture.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = capture.substr(0, end);
  capture.remove_prefix(end + 1);
  return part;
}

std::optional<CaptureParts> split_capture(std::string_view capture) {
  CaptureParts parts;
  for (std::string_view* part :
       {&parts.status, &parts.cwd, &parts.exit_trap, &parts.options, &parts.more_options, &parts.umask,
        &parts.variables, &parts.functions, &parts.attributes, &parts.aliases, &parts.rest}) {
    const auto taken = take_part(capture);
    if (!taken) return std::nullopt;
    *part = *taken;
  }
  if (capture != "END") return std::nullopt;
  return parts;
}

std::string_view without_newline(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text;
}

int parse_status(std::string_view text) {
  int status = 0;
  for (const char c : text.substr(0, 3)) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status > 255 ? 0 : status;
}

int parse_umask(std::string_view text, int fallback) {
  int mask = 0;
  int digits = 0;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '7' && digits < 5; ++digits, text.remove_prefix(1)) {
    mask = mask * 8 + (text[0] - '0');
  }
  return digits == 0 || mask > 0777 ? fallback : mask;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace cove::session
