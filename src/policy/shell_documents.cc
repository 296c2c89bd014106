// Here-documents: announced in one line, read when that line has ended.

#include <utility>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

bool is_continued(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  return (line.size() - (last == std::string_view::npos ? 0 : last + 1)) % 2 == 1;
}

}  // namespace

void ShellParser::here_document(std::size_t redirection, bool strips_tabs) {
  PendingDocument document{.strips_tabs = strips_tabs, .redirection = redirection};
  const std::size_t from = at_;
  while (!eof() && !is_meta(peek())) {
    const char c = text_[at_++];
    if (c == '\\' && !eof()) {
      document.quoted = true;
      document.delimiter += text_[at_++];
    } else if (c == '\'' || c == '"') {
      document.quoted = true;
      while (!eof() && peek() != c) document.delimiter += text_[at_++];
      if (eof()) return fail(ShellProblem::unfinished, "a quote is not closed");
      ++at_;
    } else if (c == '$' && (peek() == '{' || peek() == '(')) {
      // Nothing is expanded, but what belongs together stays together.
      Word raw;
      --at_;
      dollar(raw, true);
      document.delimiter += raw.text;
    } else {
      document.delimiter += c;
    }
  }
  if (failed_) return;
  if (at_ == from) return fail(eof() ? ShellProblem::unfinished : ShellProblem::syntax, "'<<' has no end word");
  documents_.push_back(std::move(document));
}

void ShellParser::read_documents() {
  const std::vector<PendingDocument> pending = std::exchange(documents_, {});
  for (const PendingDocument& document : pending) read_document(document);
}

// A document that is never ended holds the rest: a shell warns and goes on.
void ShellParser::read_document(const PendingDocument& document) {
  if (failed_) return;
  const std::size_t begin = at_;
  std::size_t end = end_;
  bool continued = false;
  while (!eof()) {
    const std::size_t stop = line_end();
    const std::string_view line = text_.substr(at_, stop - at_);
    std::string_view compared = line;
    if (document.strips_tabs) compared.remove_prefix(std::min(compared.find_first_not_of('\t'), compared.size()));
    const std::size_t start = std::exchange(at_, std::min(stop + 1, end_));
    if (!continued && compared == document.delimiter) {
      end = start;
      break;
    }
    continued = !document.quoted && is_continued(line);
  }
  Word body;
  if (document.quoted) {
    append(body, text_.substr(begin, end - begin), '.');
  } else {
    expand_document(begin, end, body);
  }
  if (document.command >= 0) {
    script_.commands[static_cast<std::size_t>(document.command)].redirections[document.redirection].target =
        std::move(body);
  }
}

void ShellParser::expand_document(std::size_t begin, std::size_t end, Word& body) {
  const Inside inside(*this);
  const auto [at, whole] = std::pair(std::exchange(at_, begin), std::exchange(end_, end));
  place_.inner = place_.nowhere = true;
  while (!failed_ && !eof()) {
    const char c = peek();
    if (c == '\\' && (peek(1) == '$' || peek(1) == '`' || peek(1) == '\\')) {
      append(body, peek(1), '.');
      at_ += 2;
    } else if (c == '$') {
      dollar(body, true);
    } else if (c == '`') {
      backquoted(body, true);
    } else {
      append(body, text_[at_++], '.');
    }
  }
  recover();
  end_ = whole;
  at_ = failed_ ? whole : at;
}

}  // namespace cove::policy
