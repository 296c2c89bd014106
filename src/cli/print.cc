#include "cli/print.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "cli/command.h"

namespace cove::cli {
namespace {

bool colours() {
  static const bool wanted = [] {
    const char* no_color = std::getenv("NO_COLOR");
    return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) == 1;
  }();
  return wanted;
}

std::string_view& complaint_prefix() {
  static std::string_view prefix = "cove: ";
  return prefix;
}

// Columns on a screen: characters, not bytes; escape sequences of ours count as nothing.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\033') escape = true;
    if (!escape && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++width;
    if (escape && c == 'm') escape = false;
  }
  return width;
}

// Control characters are shown, not sent: a message may quote a name or a sentence that a sandbox has chosen.
std::string harmless(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto before = static_cast<unsigned char>(i > 0 ? text[i - 1] : 0);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F, which some terminals obey as well.
    const bool c1 = before == 0xC2 && byte >= 0x80 && byte < 0xA0;
    if (c1) out.pop_back();
    if (!control && !c1)
      out += text[i];
    else
      (((out += "\\x") += kHex[byte >> 4]) += kHex[byte & 15]);
  }
  return out;
}

}  // namespace

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void print(std::string_view text) { write_all(STDOUT_FILENO, text); }

void speak_as(std::string_view prefix) { complaint_prefix() = prefix; }

void complain(std::string_view message) {
  write_all(STDERR_FILENO, std::string(complaint_prefix()) + harmless(message) + "\n");
}

int report(const Error& error) {
  complain(error.message);
  return kOwnError;
}

void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    text += '\n';
  }
  print(text);
}

std::string tinted(Tint tint, std::string_view text) {
  if (!colours()) return std::string(text);
  constexpr std::string_view kCodes[] = {"1", "32", "31", "33"};
  return "\033[" + std::string(kCodes[static_cast<std::size_t>(tint)]) + "m" + std::string(text) + "\033[0m";
}

}  // namespace cove::cli
