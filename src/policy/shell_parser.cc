#include "policy/shell_parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr std::array<std::string_view, 8> kClosing{"then", "do", "done", "fi", "elif", "else", "esac", "}"};

}  // namespace

// Looking ahead for `))` may read the same bytes again; the budget keeps the whole linear.
ShellParser::ShellParser(std::string_view text, Script& script, const Place& place)
    : text_(text), script_(script), place_(place), end_(text.size()), scan_budget_(4096 + 8 * text.size()) {}

ShellParser::Deciders ShellParser::run() {
  Deciders deciders = list().deciders;
  if (!failed_ && !eof()) fail(ShellProblem::syntax, "something ends here that was not begun");
  read_documents();
  return deciders;
}

// What is within backquotes and here-documents is only looked at by a shell when it comes to run it.
void ShellParser::recover() {
  if (script_.problem != ShellProblem::too_deep) failed_ = false;
}

void ShellParser::fail(ShellProblem problem, std::string_view what) {
  if (failed_) return;
  failed_ = true;
  if (place_.inner) script_.inner_problem = true;
  if ((!place_.inner || problem == ShellProblem::too_deep) && script_.problem == ShellProblem::none) {
    script_.problem = problem;
    script_.problem_at = place_.inner ? 0 : at_;
    script_.problem_text = what;
  }
  at_ = end_;
}

std::size_t ShellParser::line_end() const {
  const std::size_t size = text_.substr(at_, end_ - at_).find('\n');
  return size == std::string_view::npos ? end_ : at_ + size;
}

void ShellParser::skip_blanks() {
  while (!eof()) {
    if (is_blank(peek())) {
      ++at_;
    } else if (looks_at("\\\n")) {
      at_ += 2;
    } else if (peek() == '#') {
      at_ = line_end();
    } else {
      return;
    }
  }
}

void ShellParser::skip_newlines() {
  for (skip_blanks(); !failed_ && peek() == '\n'; skip_blanks()) {
    ++at_;
    read_documents();
  }
}

// The word here if nothing in it is quoted or expanded and it is short enough to be a reserved one.
std::string_view ShellParser::bare_word() const {
  constexpr std::size_t kLongest = 8;
  std::size_t size = 0;
  while (at_ + size < end_ && !is_meta(text_[at_ + size])) {
    if (++size > kLongest) return {};
  }
  return text_.substr(at_, size);
}

bool ShellParser::take_reserved(std::string_view what) {
  skip_blanks();
  if (failed_ || bare_word() != what) return false;
  at_ += what.size();
  return true;
}

void ShellParser::expect(std::string_view reserved) {
  if (take_reserved(reserved)) return;
  fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, "'" + std::string(reserved) + "' is missing");
}

void ShellParser::expect_byte(char what, std::string_view otherwise) {
  if (!failed_ && !eof() && peek() == what) {
    ++at_;
  } else {
    fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, otherwise);
  }
}

bool ShellParser::closes_list() const {
  if (peek() == ')' || looks_at(";;") || looks_at(";&")) return true;
  return std::find(kClosing.begin(), kClosing.end(), bare_word()) != kClosing.end();
}

ShellParser::List ShellParser::list() {
  const Deeper deeper(*this);
  List result;
  while (!failed_) {
    skip_newlines();
    if (failed_ || eof() || closes_list()) break;
    result.empty = false;
    const std::size_t first = script_.commands.size();
    result.deciders = and_or();
    skip_blanks();
    if (peek() == '&' && !failed_) {
      for (std::size_t i = first; i < script_.commands.size(); ++i) script_.commands[i].background = true;
      result.deciders.clear();
    }
    if (!end_of_list_item()) break;
  }
  return result;
}

// Takes what separates two items; false if the list ends here.
bool ShellParser::end_of_list_item() {
  if (failed_ || eof() || closes_list()) return false;
  if (peek() == '\n') return true;
  if (peek() == ';' || peek() == '&') {
    ++at_;
    return true;
  }
  fail(ShellProblem::syntax, "a command is followed by something that cannot stand there");
  return false;
}

ShellParser::List ShellParser::filled_list(std::string_view after) {
  List result = list();
  if (result.empty) {
    fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax,
         "there is no command after '" + std::string(after) + "'");
  }
  return result;
}

// If `a && b` fails either may have; if `a || b` does, b has.
ShellParser::Deciders ShellParser::and_or() {
  const bool conditional = place_.conditional;
  Deciders deciders = pipeline();
  for (skip_blanks(); looks_at("&&") || looks_at("||"); skip_blanks()) {
    const bool either = peek() == '|';
    at_ += 2;
    skip_newlines();
    place_.conditional = true;
    Deciders right = pipeline();
    if (either) deciders.clear();
    deciders.insert(deciders.end(), right.begin(), right.end());
  }
  place_.conditional = conditional;
  return deciders;
}

// `!` and `time`. True if nothing more needs to follow.
bool ShellParser::pipeline_prefixes(bool& negated) {
  bool any = false;
  while (!failed_) {
    skip_blanks();
    const std::string_view here = bare_word();
    if (here == "!") {
      ++at_;
      negated = !negated;
    } else if (here == "time") {
      const std::size_t before = at_;
      at_ += here.size();
      skip_blanks();
      if (bare_word() == "-p") at_ += 2;
      skip_blanks();
      if (bare_word() == "--") at_ += 2;
      skip_blanks();
      // With options of its own it is the program of that name.
      if (peek() == '-') {
        at_ = before;
        return false;
      }
    } else {
      break;
    }
    any = true;
  }
  return any && (eof() || peek() == '\n' || peek() == ';' || peek() == ')');
}

ShellParser::Deciders ShellParser::pipeline() {
  bool negated = false;
  if (pipeline_prefixes(negated)) return {};
  const auto [pipeline, stage] = std::pair(place_.pipeline, place_.stage);
  const unsigned mine = ++script_.pipelines;
  place_.pipeline = mine;
  place_.stage = 0;
  Deciders deciders = command();
  for (skip_blanks(); !failed_ && peek() == '|' && peek(1) != '|'; skip_blanks()) {
    at_ += peek(1) == '&' ? 2 : 1;
    skip_newlines();
    place_.pipeline = mine;
    ++place_.stage;
    deciders = command();
  }
  place_.pipeline = pipeline;
  place_.stage = stage;
  if (negated) deciders.clear();
  return deciders;
}

bool ShellParser::ends_command() const {
  const char c = peek();
  return eof() || c == '\n' || c == ';' || c == '|' || c == '(' || c == ')' || (c == '&' && peek(1) != '>');
}

unsigned ShellParser::new_scope() {
  script_.scopes.push_back(place_.scope);
  return static_cast<unsigned>(script_.scopes.size() - 1);
}

}  // namespace cove::policy
