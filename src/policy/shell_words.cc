#include <algorithm>
#include <cstdint>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr bool is_glob_group(char c) { return c == '?' || c == '*' || c == '+' || c == '@' || c == '!'; }

// A tilde means a home directory only at the beginning of a word or of a value.
char kind_of(char c, const Word& before) {
  if (c == '*' || c == '?' || c == '[' || c == '{' || c == '}' || c == ',') return '*';
  if (c != '~') return '.';
  return before.text.empty() || before.text.back() == '=' || before.text.back() == ':' ? '*' : '.';
}

// `{a,b}` and `{1..3}` are expanded, `{}`, `{x}` and a comma elsewhere are not.
void settle_braces(Word& word) {
  bool open = false, choice = false, complete = false;
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    if (word.kinds[i] == '.' && word.text.compare(i, 2, "..") == 0) choice = choice || open;
    if (word.kinds[i] != '*') continue;
    if (word.text[i] == '{') open = true;
    if (word.text[i] == ',') choice = choice || open;
    if (word.text[i] == '}') complete = complete || choice;
  }
  if (complete) return;
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    const char c = word.text[i];
    if (word.kinds[i] == '*' && (c == '{' || c == '}' || c == ',')) word.kinds[i] = '.';
  }
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void append_utf8(Word& word, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { append(word, static_cast<char>(value), '.'); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18 & 7)), byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F));
  }
}

// Up to `most` digits of the base.
std::uint32_t number_at(std::string_view text, std::size_t& at, int base, unsigned most) {
  std::uint32_t value = 0;
  for (; most > 0 && at < text.size(); --most, ++at) {
    const int digit = hex_value(text[at]);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
  }
  return value;
}

// What stands behind a backslash within $'...'; `at` is at the first byte after the backslash.
void ansi_escape(std::string_view text, std::size_t& at, Word& into) {
  static constexpr std::string_view kLetters = "abeEfnrtv\\'\"?";
  static constexpr std::string_view kValues = "\a\b\033\033\f\n\r\t\v\\'\"?";
  const char c = text[at];
  if (const std::size_t i = kLetters.find(c); i != std::string_view::npos) {
    ++at;
    return append(into, kValues[i], '.');
  }
  const std::size_t digits = at + 1;
  if (c >= '0' && c <= '7') return append(into, static_cast<char>(number_at(text, at, 8, 3)), '.');
  if (c == 'c' && digits < text.size()) {
    at += 2;
    return append(into, static_cast<char>(text[digits] & 0x1F), '.');
  }
  if (c == 'x' || c == 'u' || c == 'U') {
    std::size_t end = digits;
    const std::uint32_t code = number_at(text, end, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    if (end > digits) {
      at = end;
      return c == 'x' ? append(into, static_cast<char>(code), '.') : append_utf8(into, code);
    }
  }
  append(into, '\\', '.');
}

}  // namespace

void ShellParser::close_word(Word& word, std::size_t from) const {
  settle_braces(word);
  if (place_.nowhere) return;
  word.at = from;
  word.end = at_;
}

Word ShellParser::word() {
  Word result;
  const std::size_t from = at_;
  rest_of_word(result, from);
  if (at_ == from) fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, "a word is missing");
  return result;
}

void ShellParser::rest_of_word(Word& into, std::size_t from) {
  while (!failed_ && !eof() && (!is_meta(peek()) || process_substitution_ahead())) piece(into);
  close_word(into, from);
}

void ShellParser::piece(Word& into) {
  const char c = peek();
  if (c == '\\') {
    if (peek(1) != '\n') append(into, at_ + 1 < end_ ? peek(1) : '\\', '.');
    at_ = std::min(at_ + 2, end_);
  } else if (c == '\'') {
    single_quoted(into);
  } else if (c == '"') {
    double_quoted(into);
  } else if (c == '$') {
    dollar(into, false);
  } else if (c == '`') {
    backquoted(into, false);
  } else if (process_substitution_ahead()) {
    process_substitution(into);
  } else {
    append(into, c, kind_of(c, into));
    ++at_;
    if (is_glob_group(c) && peek() == '(' && peek(1) != ')') group_piece(into);
  }
}

// `@(a|b)`
void ShellParser::group_piece(Word& into) {
  const Deeper deeper(*this);
  if (failed_) return;
  append(into, '(', '*');
  ++at_;
  while (!failed_ && !eof() && peek() != ')') {
    if (peek() == '(') {
      group_piece(into);
    } else if (is_meta(peek())) {
      append(into, text_[at_++], '*');
    } else {
      piece(into);
    }
  }
  expect_byte(')', "a '(' is not closed");
  append(into, ')', '*');
}

// What stands behind `=~`: parentheses belong to it, and blanks within them.
void ShellParser::regex(Word& into) {
  skip_blanks();
  const std::size_t from = at_;
  unsigned open = 0;
  while (!failed_ && !eof()) {
    const char c = peek();
    const bool ends = is_blank(c) || c == '\n' || c == ';' || c == '&' || c == ')';
    if (open == 0 && ends) break;
    if (c == '(') ++open;
    if (c == ')') --open;
    if (is_meta(c)) {
      append(into, text_[at_++], '*');
    } else {
      piece(into);
    }
  }
  close_word(into, from);
}

void ShellParser::single_quoted(Word& into) {
  const std::string_view rest = text_.substr(at_ + 1, end_ - at_ - 1);
  const std::size_t size = rest.find('\'');
  if (size == std::string_view::npos) return fail(ShellProblem::unfinished, "a ' is not closed");
  append(into, rest.substr(0, size), '.');
  at_ += size + 2;
}

void ShellParser::double_quoted(Word& into) {
  ++at_;
  while (!failed_ && !eof() && peek() != '"') {
    const char c = peek();
    if (c == '\\' && at_ + 1 < end_) {
      const char next = peek(1);
      if (next != '\n') {
        if (next != '$' && next != '`' && next != '"' && next != '\\') append(into, '\\', '.');
        append(into, next, '.');
      }
      at_ += 2;
    } else if (c == '$') {
      dollar(into, true);
    } else if (c == '`') {
      backquoted(into, true);
    } else {
      append(into, text_[at_++], '.');
    }
  }
  expect_byte('"', "a \" is not closed");
}

void ShellParser::ansi_quoted(Word& into) {
  at_ += 2;
  while (!eof() && peek() != '\'') {
    if (peek() == '\\' && at_ + 1 < end_) {
      ++at_;
      ansi_escape(text_.substr(0, end_), at_, into);
    } else {
      append(into, text_[at_++], '.');
    }
  }
  expect_byte('\'', "a ' is not closed");
}

}  // namespace cove::policy
