#pragma once

// What a shell script would run, as far as its text tells: every simple command with its words, wherever it stands.
// The language is bash's, which holds sh's. A pure function of the text: linear in time, bounded in depth, no text
// makes it fail otherwise than by saying so in `problem`.
//
// Commands are a flat list in the order of the text; where one stands (function, subshell, pipeline, ...) is said in
// its fields. Commands that another one runs (sudo, env, xargs, `sh -c '...'`, eval, find -exec, ...) stand in the
// list, too.
//
// Rejected: a tree, because no caller asks for the shape, only for the commands and where they stand; patterns on the
// text, because they cannot tell a command from a word that looks like one; asking bash itself, because it runs things.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cove::policy {

// A word after quotes are removed. What only a running shell knows stays as it was written: `$HOME`, `$(date)`.
struct Word {
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  std::string text;
  // One letter per byte of `text`: '.' the byte itself, '*' means more than itself (glob, brace, tilde),
  // '$' part of an expansion, '"' part of an expansion in double quotes (never split into several words).
  std::string kinds;
  std::size_t at = kNowhere;  // where it begins in the script; kNowhere in scripts within scripts
  std::size_t end = kNowhere;

  // Known byte for byte.
  bool literal() const { return kinds.find_first_not_of('.') == std::string::npos; }
};

struct Redirection {
  enum class Kind : unsigned char { read, write, append, read_write, duplicate, here_document, here_string };
  Kind kind = Kind::read;
  int fd = -1;  // as written, or -1; `&>` is -1, too
  Word target;  // a file, a descriptor, or the whole text of a here-document or here-string
};

struct SimpleCommand {
  std::string name;  // the command word without its directory; "" if there is none or it is not known
  std::vector<Word> assignments;
  std::vector<Word> words;  // the command word and its arguments; empty for bare assignments and redirections
  std::vector<Redirection> redirections;

  int wrapper = -1;           // index of the command that runs this one: sudo, sh -c, ...
  int function = -1;          // index of the function in whose body it stands
  unsigned scope = 0;         // the subshell it runs in, index into Script::scopes
  unsigned pipeline = 0;      // commands of one pipeline share it
  unsigned stage = 0;         // place in the pipeline
  unsigned depth = 0;         // of nesting
  bool background = false;    // it, or something around it, is followed by `&`
  bool conditional = false;   // within if, a loop, case, or behind && or ||
  bool substitution = false;  // within $( ), ` ` or <( )
};

// A value that the script itself gives to a variable; `for` gives several.
struct KnownValue {
  std::string name;
  Word value;
};

enum class ShellProblem : unsigned char {
  none,
  syntax,      // bash would refuse it, too
  unfinished,  // ends within quotes, a group, a compound command
  too_deep,    // nests deeper than kMaxShellDepth: what is inside is not known
};
inline constexpr unsigned kMaxShellDepth = 64;

struct Script {
  std::vector<SimpleCommand> commands;
  std::vector<std::string> functions;  // by their names
  std::vector<unsigned> scopes;        // each one's parent; 0 is the script
  unsigned pipelines = 0;              // how many there are
  std::vector<KnownValue> values;
  // Indexes of the commands whose exit code may become the script's if that is not 0, the likeliest last.
  std::vector<int> deciders;

  ShellProblem problem = ShellProblem::none;
  std::size_t problem_at = 0;
  std::string problem_text;    // "" or a part of a sentence: "a quote is not closed"
  bool inner_problem = false;  // a script within the script (sh -c, eval, ...) is broken
};

Script parse_shell(std::string_view text);

// What a word may become: braces expanded, variables with values that the script gives put in. At most 32; a word that
// has none of that is returned as it is. Globs, `~` and variables that are not known stay.
std::vector<Word> alternatives(const Word& word, const Script& script);

}  // namespace cove::policy
