// Any bytes are a script or a broken one: the parser and every guard on top of it answer, and what they say about
// places in the text is true.

#include <string_view>

#include "fuzz.h"
#include "policy/approval.h"
#include "policy/deny_list.h"
#include "policy/exit_meaning.h"
#include "policy/floor.h"
#include "policy/foreground.h"
#include "policy/sudo.h"

namespace cove::fuzz {
namespace {

void check_word(const policy::Word& word, std::string_view text) {
  require(word.text.size() == word.kinds.size());
  require((word.at == policy::Word::kNowhere) == (word.end == policy::Word::kNowhere));
  if (word.at != policy::Word::kNowhere) require(word.at <= word.end && word.end <= text.size());
}

void check(const policy::Script& script, std::string_view text) {
  const auto count = static_cast<int>(script.commands.size());
  for (int i = 0; i < count; ++i) {
    const policy::SimpleCommand& command = script.commands[static_cast<std::size_t>(i)];
    require(command.wrapper < i && command.scope < script.scopes.size());
    require(command.function < static_cast<int>(script.functions.size()));
    for (const policy::Word& word : command.words) {
      check_word(word, text);
      require(policy::alternatives(word, script).size() <= 32);
    }
    for (const policy::Redirection& each : command.redirections) check_word(each.target, text);
  }
  for (const int decider : script.deciders) require(decider >= 0 && decider < count);
  for (std::size_t i = 1; i < script.scopes.size(); ++i) require(script.scopes[i] < i);
  require((script.problem == policy::ShellProblem::none) == script.problem_text.empty());
}

}  // namespace
}  // namespace cove::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cove;
  if (size > 16384) return 0;  // what is longer is only slower
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const policy::Script script = policy::parse_shell(text);
  fuzz::check(script, text);
  const policy::Verdict verdict = policy::judge_floor(script, {"/home/ann", "/"});
  fuzz::require(verdict.refused == !verdict.rule.empty() && verdict.sentence.size() < 1000);
  policy::judge_foreground(script);
  policy::exit_meaning(script, size % 256);
  const policy::SudoRewrite rewritten = policy::sudo_reads_stdin(text, script);
  fuzz::require(rewritten.text.size() == size + 9 * rewritten.count);
  const std::string_view line = text.substr(0, text.find('\n'));
  if (const auto list = policy::DenyList::make({std::string(line)})) list->judge(script);
  policy::Approvals approvals;
  if (approvals.load(text)) {
    policy::Approvals again;
    fuzz::require(again.load(approvals.save()).has_value() && again.save() == approvals.save());
    approvals.find({}, script);
  }
  return 0;
}
