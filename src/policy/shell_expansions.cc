// `$`, backquotes and `<( )`: parts of words that hold commands. Their text stays in the word as it was written.

#include <utility>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr bool is_special_parameter(char c) {
  return c == '@' || c == '*' || c == '#' || c == '?' || c == '-' || c == '$' || c == '!' || is_digit(c);
}

}  // namespace

bool ShellParser::process_substitution_ahead() const { return (peek() == '<' || peek() == '>') && peek(1) == '('; }

void ShellParser::process_substitution(Word& into) {
  const std::size_t from = at_;
  at_ += 2;
  substitution(')');
  if (!failed_) append(into, text_.substr(from, at_ - from), '$');
}

void ShellParser::dollar(Word& into, bool quoted) {
  const std::size_t from = at_;
  const char next = peek(1);
  if (next == '\'' && !quoted) return ansi_quoted(into);
  if (next == '"' && !quoted) {
    ++at_;
    return double_quoted(into);
  }
  at_ += 2;
  if (next == '(') {
    if (peek() != '(' || !double_parentheses()) substitution(')');
  } else if (next == '{') {
    parameter(quoted);
  } else if (next == '[') {
    old_arithmetic();
  } else if (is_name_start(next)) {
    while (is_name_byte(peek())) ++at_;
  } else if (!is_special_parameter(next)) {
    at_ = from + 1;
    return append(into, '$', '.');
  }
  if (!failed_) append(into, text_.substr(from, at_ - from), quoted ? '"' : '$');
}

// Commands in a subshell of their own, up to `close`.
void ShellParser::substitution(char close) {
  Deciders deciders;
  {
    const Inside inside(*this);
    place_.substitution = true;
    place_.scope = new_scope();
    deciders = list().deciders;
    expect_byte(close, "a '$(' is not closed");
  }
  substituted_ = std::move(deciders);
}

// `'` is a quote here unless this stands in double quotes and gives a value, as in "${x:-it's}".
bool ShellParser::parameter_quotes(bool quoted) {
  if ((peek() == '!' || peek() == '#') && peek(1) != '}') ++at_;
  if (is_name_start(peek())) {
    while (is_name_byte(peek())) ++at_;
  } else if (is_special_parameter(peek())) {
    ++at_;
  }
  constexpr std::string_view kPatterns = "#%/^,@[~";
  return !quoted || kPatterns.find(peek()) != std::string_view::npos;
}

// `${ command; }` of the newest shells. Older ones only look for the '}', so if it cannot be read as commands, what
// stands behind it still counts.
bool ShellParser::function_substitution() {
  const std::size_t from = at_;
  if (peek() == '|') ++at_;
  const bool inner = std::exchange(place_.inner, true);
  substitution('}');
  place_.inner = inner;
  if (!failed_) return true;
  recover();
  if (!spend(end_ - from)) return true;
  at_ = from;
  return false;
}

void ShellParser::parameter(bool quoted) {
  const Deeper deeper(*this);
  if ((is_blank(peek()) || peek() == '\n' || peek() == '|') && function_substitution()) return;
  const bool quotes = parameter_quotes(quoted);
  Word ignored;
  while (!failed_ && !eof() && peek() != '}') {
    const char c = peek();
    if (c == '\\') {
      at_ = std::min(at_ + 2, end_);
    } else if (c == '\'' && quotes) {
      single_quoted(ignored);
    } else if (c == '"') {
      double_quoted(ignored);
    } else if (c == '$') {
      dollar(ignored, quoted);
    } else if (c == '`') {
      backquoted(ignored, quoted);
    } else if (!quoted && process_substitution_ahead()) {
      process_substitution(ignored);
    } else {
      ++at_;
    }
  }
  expect_byte('}', "a '${' is not closed");
}

void ShellParser::arithmetic_piece() {
  Word ignored;
  const char c = peek();
  if (c == '\\') {
    at_ = std::min(at_ + 2, end_);
  } else if (c == '\'') {
    single_quoted(ignored);
  } else if (c == '"') {
    double_quoted(ignored);
  } else if (c == '$') {
    dollar(ignored, true);
  } else if (c == '`') {
    backquoted(ignored, true);
  } else {
    ++at_;
  }
}

// Up to `))`, of which the second is at `close`.
void ShellParser::arithmetic_until(std::size_t close) {
  read_region(close - 1, [&] {
    const Deeper deeper(*this);
    while (!failed_ && !eof()) arithmetic_piece();
  });
  at_ = std::min(at_ + 2, end_);
}

// `$[1+2]`
void ShellParser::old_arithmetic() {
  const Deeper deeper(*this);
  unsigned nested = 0;
  while (!failed_ && !eof() && !(peek() == ']' && nested == 0)) {
    if (peek() == '[') ++nested;
    if (peek() == ']') --nested;
    arithmetic_piece();
  }
  expect_byte(']', "a '$[' is not closed");
}

// Whether what was opened by `((` before `from` is closed by `))`, and where, as bash decides it: by counting, quotes
// respected.
ShellParser::Parentheses ShellParser::match_double(std::size_t from) {
  Parentheses found;
  bool decided = false;
  unsigned open = 2;
  char quote = '\0';
  for (std::size_t i = from; i < end_; ++i) {
    if (scan_budget_ == 0) {
      fail(ShellProblem::too_deep, "it nests too deeply");
      return {};
    }
    --scan_budget_;
    const char c = text_[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && --open == 1 && !std::exchange(decided, true)) {
      found.arithmetic = i + 1 < end_ && text_[i + 1] == ')';
    }
    if (open > 0) continue;
    found.close = i;
    return found;
  }
  return {};
}

// Reads a part of the text on its own: what is wrong in it ends there, because shells look at it only when they run it.
void ShellParser::read_region(std::size_t end, const std::function<void()>& read) {
  const std::size_t whole = std::exchange(end_, end);
  const bool inner = std::exchange(place_.inner, true);
  read();
  recover();
  place_.inner = inner;
  end_ = whole;
  at_ = failed_ ? whole : end;
}

// `$((`, with `at_` at the second parenthesis: arithmetic, or a subshell in a substitution. False if it is never
// closed.
bool ShellParser::double_parentheses() {
  const Parentheses found = match_double(at_ + 1);
  if (found.close == Word::kNowhere) return failed_;
  if (found.arithmetic) {
    ++at_;
    arithmetic_until(found.close);
  } else {
    read_region(found.close + 1, [&] { substitution(')'); });
  }
  return true;
}

// Between backquotes a backslash protects `$`, a backquote and itself once more, so that the text must be rewritten
// before it can be read; without any it is read in place.
void ShellParser::backquoted(Word& into, bool quoted) {
  const std::size_t from = at_++;
  std::string inner;
  bool rewritten = false;
  std::size_t close = at_;
  for (; close < end_ && text_[close] != '`'; ++close) {
    const char next = close + 1 < end_ ? text_[close + 1] : '\0';
    const bool escape = text_[close] == '\\' && (next == '$' || next == '`' || next == '\\' || (quoted && next == '"'));
    if (escape) ++close;
    rewritten = rewritten || escape;
    inner += text_[close];
  }
  if (close >= end_) return fail(ShellProblem::unfinished, "a ` is not closed");
  const std::size_t whole = std::exchange(end_, close);
  {
    const Inside inside(*this);
    place_.substitution = place_.inner = true;
    place_.scope = new_scope();
    substituted_ = rewritten ? run_inner(inner, place_.wrapper) : run();
    recover();
  }
  end_ = whole;
  at_ = failed_ ? end_ : close + 1;
  append(into, text_.substr(from, close + 1 - from), quoted ? '"' : '$');
}

}  // namespace cove::policy
