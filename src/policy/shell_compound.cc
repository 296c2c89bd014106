#include <algorithm>
#include <array>
#include <utility>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr std::array<std::string_view, 10> kOpening{"{",   "[[",     "if",   "while",    "until",
                                                    "for", "select", "case", "function", "coproc"};

void join(std::vector<int>& into, const std::vector<int>& more) { into.insert(into.end(), more.begin(), more.end()); }

}  // namespace

bool ShellParser::compound_ahead() const {
  return peek() == '(' || std::find(kOpening.begin(), kOpening.end(), bare_word()) != kOpening.end();
}

ShellParser::Deciders ShellParser::command() {
  skip_blanks();
  if (failed_) return {};
  if (!compound_ahead()) return simple();
  Deciders deciders = compound(bare_word());
  compound_redirections();
  return deciders;
}

ShellParser::Deciders ShellParser::compound(std::string_view reserved) {
  if (looks_at("((")) {
    const Parentheses found = match_double(at_ + 2);
    if (found.arithmetic && found.close != Word::kNowhere) return arithmetic_command(found.close);
  }
  if (peek() == '(') return subshell();
  at_ += reserved.size();
  if (reserved == "{") return group();
  if (reserved == "[[") return test_command();
  if (reserved == "if") return if_clause();
  if (reserved == "while" || reserved == "until") return loop();
  if (reserved == "case") return case_clause();
  if (reserved == "function") return function_keyword();
  if (reserved == "coproc") return coproc();
  return for_clause();
}

// They stand in the list as a command without words, so that `{ ...; } > file` is seen to write the file.
void ShellParser::compound_redirections() {
  SimpleCommand command = new_command();
  const std::size_t first_document = documents_.size();
  for (skip_blanks(); !failed_ && !ends_command() && redirection(command.redirections);) skip_blanks();
  if (!command.redirections.empty()) add(std::move(command), first_document);
}

ShellParser::Deciders ShellParser::subshell() {
  if (failed_) return {};
  ++at_;
  const unsigned scope = std::exchange(place_.scope, new_scope());
  List inside = filled_list("(");
  place_.scope = scope;
  expect_byte(')', "a '(' is not closed");
  return inside.deciders;
}

ShellParser::Deciders ShellParser::arithmetic_command(std::size_t close) {
  at_ += 2;
  SimpleCommand command = new_command();
  command.name = "((";
  command.words.resize(1);
  append(command.words[0], "((", '.');
  arithmetic_until(close);
  return {add(std::move(command), documents_.size())};
}

ShellParser::Deciders ShellParser::group() {
  List inside = filled_list("{");
  expect("}");
  return inside.deciders;
}

ShellParser::Deciders ShellParser::test_command() {
  SimpleCommand command = new_command();
  command.name = "[[";
  command.words.resize(1);
  append(command.words[0], "[[", '.');
  while (!failed_) {
    skip_newlines();
    if (bare_word() == "]]" || eof() || failed_) break;
    Word next;
    if (looks_at("&&") || looks_at("||")) {
      at_ += 2;
    } else if (is_meta(peek()) && peek() != ';' && peek() != '&' && peek() != '|' && !process_substitution_ahead()) {
      ++at_;
    } else {
      next = word();
    }
    const bool matches = next.text == "=~";
    command.words.push_back(std::move(next));
    if (matches) regex(command.words.emplace_back());
  }
  expect("]]");
  return {add(std::move(command), documents_.size())};
}

ShellParser::Deciders ShellParser::if_clause() {
  const bool conditional = place_.conditional;
  Deciders deciders;
  do {
    filled_list("if");
    expect("then");
    place_.conditional = true;
    join(deciders, filled_list("then").deciders);
  } while (!failed_ && take_reserved("elif"));
  if (take_reserved("else")) join(deciders, filled_list("else").deciders);
  place_.conditional = conditional;
  expect("fi");
  return deciders;
}

ShellParser::Deciders ShellParser::loop() {
  filled_list("while");
  return do_group();
}

ShellParser::Deciders ShellParser::do_group() {
  const bool conditional = std::exchange(place_.conditional, true);
  const bool braces = take_reserved("{");
  if (!braces) expect("do");
  List body = filled_list("do");
  expect(braces ? "}" : "done");
  place_.conditional = conditional;
  return body.deciders;
}

ShellParser::Deciders ShellParser::for_clause() {
  skip_blanks();
  if (looks_at("((")) {
    const Parentheses found = match_double(at_ + 2);
    if (!found.arithmetic || found.close == Word::kNowhere) fail(ShellProblem::syntax, "'((' is not closed by '))'");
    if (failed_) return {};
    at_ += 2;
    arithmetic_until(found.close);
  } else {
    const Word name = word();
    skip_newlines();
    if (take_reserved("in")) for_words(name.text);
  }
  skip_blanks();
  if (peek() == ';') ++at_;
  skip_newlines();
  return do_group();
}

void ShellParser::for_words(const std::string& name) {
  for (skip_blanks(); !failed_ && !ends_command(); skip_blanks()) add_value(name, word());
}

ShellParser::Deciders ShellParser::case_clause() {
  const bool conditional = std::exchange(place_.conditional, true);
  skip_blanks();
  word();
  skip_newlines();
  expect("in");
  Deciders deciders;
  for (skip_newlines(); !failed_ && !take_reserved("esac"); skip_newlines()) {
    case_patterns();
    join(deciders, list().deciders);
    if (looks_at(";;&")) {
      at_ += 3;
    } else if (looks_at(";;") || looks_at(";&")) {
      at_ += 2;
    } else if (bare_word() != "esac") {
      fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, "'esac' is missing");
    }
  }
  place_.conditional = conditional;
  return deciders;
}

void ShellParser::case_patterns() {
  if (peek() == '(') ++at_;
  skip_blanks();
  word();
  for (skip_blanks(); !failed_ && peek() == '|'; skip_blanks()) {
    ++at_;
    skip_blanks();
    word();
  }
  expect_byte(')', "a pattern of 'case' does not end with ')'");
}

ShellParser::Deciders ShellParser::function_keyword() {
  skip_blanks();
  const Word name = word();
  skip_blanks();
  if (looks_at("(")) {
    const std::size_t before = at_++;
    skip_blanks();
    if (peek() == ')') {
      ++at_;
    } else {
      at_ = before;
    }
  }
  return function_body(name.text);
}

ShellParser::Deciders ShellParser::function_body(const std::string& name) {
  skip_newlines();
  const std::string_view opening = bare_word();
  if (failed_) return {};
  if (!compound_ahead() || opening == "function" || opening == "coproc") {
    fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, "a function has no body");
    return {};
  }
  const int index = static_cast<int>(script_.functions.size());
  script_.functions.push_back(name);
  const int function = std::exchange(place_.function, index);
  const bool conditional = std::exchange(place_.conditional, false);
  command();
  place_.function = function;
  place_.conditional = conditional;
  return {};
}

ShellParser::Deciders ShellParser::coproc() {
  const Deeper deeper(*this);
  skip_blanks();
  const std::size_t first = script_.commands.size();
  const std::size_t before = at_;
  if (!failed_ && !compound_ahead() && is_name_start(peek())) {
    while (is_name_byte(peek())) ++at_;
    skip_blanks();
    if (!compound_ahead()) at_ = before;
  }
  command();
  for (std::size_t i = first; i < script_.commands.size(); ++i) script_.commands[i].background = true;
  return {};
}

}  // namespace cove::policy
