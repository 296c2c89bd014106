#include "terminal/ask_program.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "os/child.h"
#include "policy/env.h"
#include "terminal/plain_text.h"

namespace cove::terminal {
namespace {

// Files in memory: neither side waits for the other.
UniqueFd memory_file(std::string_view text) {
  UniqueFd file(memfd_create("cove-ask", MFD_CLOEXEC));
  if (!file || pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return {};
  return file;
}

std::optional<policy::Answer> answer_of(const std::string& program, std::chrono::milliseconds limit,
                                        const policy::Question& question) {
  const UniqueFd in = memory_file(question.command), out = memory_file("");
  if (!in || !out) return std::nullopt;
  os::ExecSpec spec{.program = "/bin/sh", .argv = {"sh", "-c", program}, .new_session = true};
  for (const auto& [name, value] : policy::host_env()) spec.env.push_back(name + "=" + value);
  spec.env.push_back("COVE_ASK_TASK=" + question.session);
  spec.env.push_back("COVE_ASK_WHY=" + question.sentence);
  spec.fds = {{.from = in.get(), .as = 0}, {.from = out.get(), .as = 1}};
  auto child = os::Child::spawn(spec);
  if (!child) return std::nullopt;
  const auto ended = child->wait(Deadline::after(limit));
  if (!ended || ended->code != 0) return std::nullopt;
  char text[64];
  const ssize_t size = pread(out.get(), text, sizeof(text), 0);
  return policy::answer_from(trimmed({text, size > 0 ? static_cast<std::size_t>(size) : 0}));
}

}  // namespace

policy::Ask ask_program(const std::string& program, std::chrono::milliseconds limit) {
  return [program, limit](const policy::Question& question) { return answer_of(program, limit, question); };
}

}  // namespace cove::terminal
