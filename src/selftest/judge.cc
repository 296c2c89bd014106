#include "selftest/judge.h"

#include <csignal>
#include <cstring>

namespace cove::selftest {

std::string clean_line(std::string_view output) {
  constexpr std::size_t kLongest = 200;
  std::string line(output.substr(0, std::min(output.find('\n'), kLongest)));
  while (line.ends_with('\r')) line.pop_back();
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return line;
}

std::optional<Verdict> untried(const Ran& ran) {
  if (!ran.trouble.empty()) return broken("could not be tried: " + clean_line(ran.trouble));
  if (ran.ending == Ending::signaled && ran.signal == SIGSYS) return std::nullopt;
  if (ran.ending == Ending::oom) return std::nullopt;
  if (ran.ending != Ending::exited) {
    return broken("could not be tried: the act ended " +
                  (ran.signal != 0 ? std::string("by signal ") + strsignal(ran.signal) : "without an exit code"));
  }
  if (ran.code == 2 || ran.code > 3) {
    return broken("could not be tried: exit code " + std::to_string(ran.code) + ": " + clean_line(ran.output));
  }
  return std::nullopt;
}

Verdict judge(const Ran& ran) {
  if (auto verdict = untried(ran)) return *verdict;
  if (ran.ending == Ending::signaled) return held("killed for the attempt");
  if (ran.ending == Ending::oom) return held("killed: out of memory");
  const std::string line = clean_line(ran.output);
  if (ran.code == 0) return broken(line);
  return ran.code == 3 ? not_applicable(line) : held(line);
}

Verdict judge_secret(const Ran& ran, std::string_view secret) {
  if (ran.output.find(secret) != std::string::npos) return broken("the host's secret came out");
  if (auto verdict = untried(ran)) return *verdict;
  return held(clean_line(ran.output));
}

Verdict judge_outside(const Ran& ran, bool seen, std::string what) {
  if (seen) return broken(std::move(what));
  if (auto verdict = untried(ran)) return *verdict;
  if (ran.code == 3) return not_applicable(clean_line(ran.output));
  return held(ran.code == 0 || ran.output.empty() ? "nothing of it is seen outside" : clean_line(ran.output));
}

}  // namespace cove::selftest
