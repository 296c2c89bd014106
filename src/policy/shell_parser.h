#pragma once

// The parser behind parse_shell(): recursive descent over the bytes, because the shell's words cannot be cut from its
// commands beforehand (`$( )` holds commands, here-documents begin at the end of a line that was already read).
// One object reads one text. Scripts within scripts (sh -c '...') are read by an object of their own into the same
// Script.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shell_syntax.h"

namespace cove::policy {

class ShellParser {
 public:
  // Where the text stands: copied into every command that is found.
  struct Place {
    int wrapper = -1;
    int function = -1;
    unsigned scope = 0;
    unsigned pipeline = 0;
    unsigned stage = 0;
    unsigned depth = 0;
    bool conditional = false;
    bool substitution = false;
    bool inner = false;    // a script within the script: its problems are its own
    bool nowhere = false;  // and so are its positions
    // Bytes that may still be read again as commands within commands: what keeps time and memory linear.
    std::size_t* budget = nullptr;
  };
  using Deciders = std::vector<int>;

  ShellParser(std::string_view text, Script& script, const Place& place);
  // Reads all of the text into the script.
  Deciders run();
  // Then, once: here-documents and literal text that a shell in the script would read as its script.
  void run_stdin_scripts();

 private:
  struct PendingDocument {
    std::string delimiter;
    bool quoted = false;
    bool strips_tabs = false;
    int command = -1;
    std::size_t redirection = 0;
  };
  struct List {
    Deciders deciders;
    bool empty = true;
  };
  class Deeper;
  class Inside;

  // Characters. shell_parser.cc
  bool eof() const { return at_ >= end_; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < end_ ? text_[at_ + ahead] : '\0'; }
  bool looks_at(std::string_view what) const { return text_.substr(at_, end_ - at_).starts_with(what); }
  void fail(ShellProblem problem, std::string_view what);
  void recover();
  std::size_t line_end() const;
  void skip_blanks();
  void skip_newlines();
  std::string_view bare_word() const;
  bool take_reserved(std::string_view what);
  void expect(std::string_view reserved);
  void expect_byte(char what, std::string_view otherwise);

  // Lists and pipelines. shell_parser.cc
  List list();
  List filled_list(std::string_view after);
  bool end_of_list_item();
  bool closes_list() const;
  Deciders and_or();
  Deciders pipeline();
  bool pipeline_prefixes(bool& negated);
  bool ends_command() const;
  unsigned new_scope();

  // Simple commands. shell_simple.cc
  Deciders simple();
  void simple_words(SimpleCommand& command);
  SimpleCommand new_command() const;
  int add(SimpleCommand command, std::size_t first_document);
  std::size_t assignment_ahead() const;
  Word assignment();
  void add_value(const std::string& name, Word value);
  Deciders function_definition(const SimpleCommand& head);
  void array(Word& word);
  bool redirection(std::vector<Redirection>& into);
  std::size_t descriptor_ahead(int& fd) const;
  void here_document(std::size_t redirection, bool strips_tabs);
  void read_documents();
  void read_document(const PendingDocument& document);
  void expand_document(std::size_t begin, std::size_t end, Word& word);

  // Compound commands. shell_compound.cc
  Deciders command();
  bool compound_ahead() const;
  Deciders compound(std::string_view reserved);
  void compound_redirections();
  Deciders subshell();
  Deciders arithmetic_command(std::size_t close);
  Deciders group();
  Deciders test_command();
  Deciders if_clause();
  Deciders loop();
  Deciders for_clause();
  void for_words(const std::string& name);
  Deciders do_group();
  Deciders case_clause();
  void case_patterns();
  Deciders function_keyword();
  Deciders function_body(const std::string& name);
  Deciders coproc();

  // Words. shell_words.cc, expansions in shell_expansions.cc
  Word word();
  void rest_of_word(Word& into, std::size_t from);
  void piece(Word& into);
  void group_piece(Word& into);
  void regex(Word& into);
  void single_quoted(Word& into);
  void double_quoted(Word& into);
  void ansi_quoted(Word& into);
  void dollar(Word& into, bool quoted);
  void backquoted(Word& into, bool quoted);
  void process_substitution(Word& into);
  bool process_substitution_ahead() const;
  void substitution(char close);
  bool function_substitution();
  void parameter(bool quoted);
  bool parameter_quotes(bool quoted);
  void arithmetic_until(std::size_t close);
  void old_arithmetic();
  void arithmetic_piece();
  struct Parentheses {
    bool arithmetic = false;             // the inner ones are closed together with the outer ones
    std::size_t close = Word::kNowhere;  // of the outer ones
  };
  Parentheses match_double(std::size_t from);
  bool double_parentheses();
  void read_region(std::size_t end, const std::function<void()>& read);
  void close_word(Word& word, std::size_t from) const;

  // Commands that run others. shell_inner.cc
  Deciders derive(int index, unsigned chain);
  Deciders run_inner(std::string_view text, int wrapper);
  bool spend(std::size_t bytes);
  std::string stdin_script(int shell, std::vector<bool>& used) const;
  int stage_before(int command) const;

  std::string_view text_;
  Script& script_;
  Place place_;
  std::size_t at_ = 0;
  std::size_t end_;
  std::size_t scan_budget_;
  bool failed_ = false;
  std::vector<PendingDocument> documents_;
  Deciders substituted_;  // of the last $( ) that was read
};

}  // namespace cove::policy
