#include <algorithm>
#include <array>
#include <utility>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

struct Operator {
  std::string_view text;
  Redirection::Kind kind;
};
using Kind = Redirection::Kind;
// The longest first.
constexpr std::array<Operator, 13> kOperators{{{"<<<", Kind::here_string},
                                               {"<<-", Kind::here_document},
                                               {"<<", Kind::here_document},
                                               {"<&", Kind::duplicate},
                                               {"<>", Kind::read_write},
                                               {"<", Kind::read},
                                               {"&>>", Kind::append},
                                               {"&>", Kind::write},
                                               {">>", Kind::append},
                                               {">&", Kind::duplicate},
                                               {">|", Kind::write},
                                               {">", Kind::write},
                                               {"", Kind::read}}};

// `>&2` and `>&-` are about descriptors, `>&file` is not.
bool is_descriptor(std::string_view text) {
  if (text.ends_with('-')) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), is_digit);
}

std::string name_of(const std::vector<Word>& words) {
  if (words.empty()) return {};
  const Word& word = words.front();
  if (!word.literal() && word.text != "[") return {};
  return word.text.substr(word.text.rfind('/') + 1);
}

}  // namespace

SimpleCommand ShellParser::new_command() const {
  SimpleCommand command;
  command.wrapper = place_.wrapper;
  command.function = place_.function;
  command.scope = place_.scope;
  command.pipeline = place_.pipeline;
  command.stage = place_.stage;
  command.depth = place_.depth;
  command.conditional = place_.conditional;
  command.substitution = place_.substitution;
  return command;
}

int ShellParser::add(SimpleCommand command, std::size_t first_document) {
  const int index = static_cast<int>(script_.commands.size());
  if (command.name.empty()) command.name = name_of(command.words);
  for (std::size_t i = first_document; i < documents_.size(); ++i) {
    if (documents_[i].command < 0) documents_[i].command = index;
  }
  script_.commands.push_back(std::move(command));
  return index;
}

ShellParser::Deciders ShellParser::simple() {
  substituted_.clear();
  const std::size_t first_document = documents_.size();
  SimpleCommand command = new_command();
  simple_words(command);
  if (failed_ && command.words.empty()) return {};
  const bool bare = command.assignments.empty() && command.redirections.empty();
  if (!failed_ && command.words.size() == 1 && bare && peek() == '(') return function_definition(command);
  const bool runs = !command.words.empty();
  if (!runs && bare) {
    fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, "a command is missing");
    return {};
  }
  const int index = add(std::move(command), first_document);
  return runs ? derive(index, 0) : std::exchange(substituted_, {});
}

void ShellParser::simple_words(SimpleCommand& command) {
  for (skip_blanks(); !failed_ && !ends_command(); skip_blanks()) {
    if (redirection(command.redirections)) continue;
    if (command.words.empty() && assignment_ahead() > 0) {
      command.assignments.push_back(assignment());
    } else if (assignment_ahead() > 0) {
      command.words.push_back(assignment());
    } else {
      command.words.push_back(word());
    }
  }
}

ShellParser::Deciders ShellParser::function_definition(const SimpleCommand& head) {
  ++at_;
  skip_blanks();
  expect_byte(')', "'(' stands where no '(' can stand");
  return function_body(head.words.front().text);
}

// The size of `NAME=`, `NAME+=` or `NAME[...]=` here, or 0. A subscript may hold blanks; one that is longer than any
// that people write is read as a word.
std::size_t ShellParser::assignment_ahead() const {
  constexpr std::size_t kLongestSubscript = 256;
  if (!is_name_start(peek())) return 0;
  std::size_t size = 1;
  while (is_name_byte(peek(size))) ++size;
  if (peek(size) == '[') {
    const std::string_view rest = text_.substr(at_ + size, std::min(kLongestSubscript, end_ - at_ - size));
    const std::size_t close = rest.find("]=");
    const std::size_t close_add = rest.find("]+=");
    const std::size_t first = std::min(close, close_add);
    if (first == std::string_view::npos || rest.find('\n') < first) return 0;
    size += first + 1;
  }
  if (peek(size) == '+') ++size;
  return peek(size) == '=' ? size + 1 : 0;
}

Word ShellParser::assignment() {
  const std::size_t from = at_;
  const std::size_t size = assignment_ahead();
  const std::string_view head = text_.substr(at_, size);
  Word whole;
  // A subscript may run something: `a[$(x)]=1`.
  const std::size_t bracket = head.find('[');
  if (bracket != std::string_view::npos) {
    while (!failed_ && at_ < from + size) piece(whole);
  } else {
    append(whole, head, '.');
    at_ += size;
  }
  const std::size_t value = whole.text.size();
  if (peek() == '(') array(whole);
  rest_of_word(whole, from);
  if (bracket == std::string_view::npos && !head.ends_with("+="))
    add_value(std::string(head.substr(0, size - 1)), {whole.text.substr(value), whole.kinds.substr(value)});
  return whole;
}

// Long values are not paths or commands, and putting them in again and again would not be linear.
void ShellParser::add_value(const std::string& name, Word value) {
  constexpr std::size_t kLongestValue = 256;
  if (name.size() + value.text.size() <= kLongestValue) script_.values.push_back({name, std::move(value)});
}

void ShellParser::array(Word& word_with_array) {
  const std::size_t from = at_++;
  while (!failed_) {
    skip_newlines();
    if (peek() == ')' || failed_ || eof()) break;
    word();
  }
  expect_byte(')', "the '(' of an array is not closed");
  if (!failed_) append(word_with_array, text_.substr(from, at_ - from), '$');
}

// The bytes of `2` in `2>` or of `{fd}` in `{fd}>`.
std::size_t ShellParser::descriptor_ahead(int& fd) const {
  std::size_t size = 0;
  if (peek() == '{') {
    for (size = 1; is_name_byte(peek(size));) ++size;
    size = peek(size) == '}' && size > 1 ? size + 1 : 0;
  } else {
    while (size < 4 && is_digit(peek(size))) {
      fd = (size == 0 ? 0 : fd * 10) + (peek(size) - '0');
      ++size;
    }
  }
  if (peek(size) == '<' || peek(size) == '>') return size;
  fd = -1;
  return 0;
}

bool ShellParser::redirection(std::vector<Redirection>& into) {
  Redirection found;
  const std::size_t descriptor = descriptor_ahead(found.fd);
  if (descriptor == 0 && process_substitution_ahead()) return false;
  const std::string_view rest = text_.substr(at_ + descriptor, end_ - at_ - descriptor);
  const Operator op = *std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](const Operator& each) { return rest.starts_with(each.text); });
  if (op.text.empty()) return false;
  at_ += descriptor + op.text.size();
  found.kind = op.kind;
  skip_blanks();
  if (found.kind == Kind::here_document) {
    into.push_back(std::move(found));
    here_document(into.size() - 1, op.text == "<<-");
    return true;
  }
  found.target = word();
  if (found.kind == Kind::duplicate && op.text == ">&" && !is_descriptor(found.target.text)) found.kind = Kind::write;
  into.push_back(std::move(found));
  return true;
}

}  // namespace cove::policy
