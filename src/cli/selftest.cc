#include "selftest/runner.h"

#include <csignal>
#include <thread>

#include "cli/print.h"
#include "cli/spec_options.h"
#include "cli/text.h"
#include "cli/tried.h"

namespace cove::cli {
namespace {

using selftest::Attempt;
using selftest::Finding;
using selftest::Tried;

struct Options {
  std::string backend, group;
  bool json = false, list = false;
};

void define(Arguments& arguments, Options& options) {
  arguments.text("--backend", options.backend, "NAME", "What makes the sandbox; 'cove doctor' lists them");
  arguments.text("--group", options.group, "GROUP", "Only the attempts whose group or name begins so");
  arguments.flag("--list", options.list, "Say what would be tried, and try nothing");
  arguments.flag("--json", options.json, "Print one JSON object");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

// While it lives, the first SIGINT, SIGTERM or SIGHUP asks for an orderly end and the second one ends at once. A thread
// takes them, because what has to be done is not for a handler.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    waiter_ = std::jthread([this](const std::stop_token& over) { wait(over); });
  }
  ~StopOnSignal() {
    waiter_.request_stop();
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  std::stop_token token() const { return source_.get_token(); }

 private:
  void wait(const std::stop_token& over) {
    constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!over.stop_requested()) {
      if (sigtimedwait(&signals_, nullptr, &kLook) < 0) continue;
      if (source_.stop_requested()) _exit(130);
      source_.request_stop();
    }
  }

  sigset_t signals_{}, before_{};
  std::stop_source source_;
  std::jthread waiter_;
};

std::vector<Attempt> chosen(const std::string& beginning) {
  std::vector<Attempt> all = selftest::all_attempts();
  std::erase_if(all, [&](const Attempt& attempt) {
    return !attempt.group.starts_with(beginning) && !attempt.name.starts_with(beginning);
  });
  return all;
}

std::string padded(std::string_view text) {
  std::string out(text);
  out.resize(std::max<std::size_t>(out.size() + 1, 26), ' ');
  return out;
}

// Prints the group's name when it changes.
class Groups {
 public:
  void enter(std::string_view group) {
    if (group != current_) print((current_.empty() ? "" : "\n") + tinted(Tint::bold, group) + "\n");
    current_ = group;
  }

 private:
  std::string_view current_;
};

void print_tried(const Tried& tried) {
  constexpr Tint kTints[] = {Tint::green, Tint::red, Tint::yellow};
  constexpr std::string_view kWords[] = {"held  ", "BROKEN", "n/a   "};
  const auto finding = static_cast<std::size_t>(tried.verdict.finding);
  print("  " + tinted(kTints[finding], kWords[finding]) + "  " + padded(tried.attempt.name) + tried.verdict.detail +
        "\n");
}

std::size_t count(const std::vector<Tried>& all, Finding finding) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const Tried& tried) { return tried.verdict.finding == finding; }));
}

std::string summary(const std::string& backend, const std::vector<Tried>& all) {
  const std::size_t bad = count(all, Finding::broken);
  const std::string text = backend + ": " + std::to_string(all.size()) +
                           " attempts: " + std::to_string(count(all, Finding::held)) + " held, " + std::to_string(bad) +
                           " broken, " + std::to_string(count(all, Finding::not_applicable)) + " not applicable";
  return "\n" + tinted(bad == 0 ? Tint::green : Tint::red, text) + "\n";
}

int list_attempts(const std::vector<Attempt>& attempts) {
  Groups groups;
  for (const Attempt& attempt : attempts) {
    groups.enter(attempt.group);
    print("  " + padded(attempt.name) + std::string(attempt.tries) + "\n");
  }
  return 0;
}

int main(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  const std::vector<Attempt> attempts = chosen(options.group);
  if (attempts.empty()) return arguments.usage_error("--group: nothing begins with '" + options.group + "'");
  if (options.list) return list_attempts(attempts);
  SpecOptions about;
  if (!options.backend.empty()) about.settings["backend"] = options.backend;
  const auto base = make_spec(about);
  if (!base) return report(base.error());
  const StopOnSignal stop;
  Groups groups;
  selftest::Options how{.base = *base, .attempts = attempts, .stop = stop.token()};
  if (!options.json) {
    how.each = [&](const Tried& tried) {
      groups.enter(tried.attempt.group);
      print_tried(tried);
    };
  }
  const auto all = selftest::run(how);
  if (!all) return stop.token().stop_requested() ? 130 : report(all.error());
  print(options.json ? to_json(base->backend, *all) : summary(base->backend, *all));
  return count(*all, Finding::broken) == 0 ? 0 : 1;
}

}  // namespace

const Command kSelftest{
    .name = "selftest",
    .usage = "[--backend NAME] [--group GROUP] [--list] [--json]",
    .summary = "Try to break out of a sandbox, in every way we know",
    .examples =
        "  cove selftest\n"
        "  cove selftest --backend local      # no walls: shows that the attempts can succeed\n"
        "  cove selftest --group kernel",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
