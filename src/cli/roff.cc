#include "cli/roff.h"

namespace cove::cli {

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '.' && (out.empty() || out.back() == '\n')) out += "\\&";
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      // groff would show these as typographic quotes and accents.
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out;
}

std::string roff_section(std::string_view title) { return ".SH " + std::string(title) + "\n"; }

std::string roff_item(std::string_view tag, std::string_view text) {
  return ".TP\n" + std::string(tag) + "\n" + roff(text) + "\n";
}

std::string roff_bold(std::string_view text) { return "\\fB\\%" + roff(text) + "\\fR"; }

}  // namespace cove::cli
