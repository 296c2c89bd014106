#include "cli/arguments.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/print.h"

namespace cove::cli {

struct Arguments::Parser {
  CLI::App app;
  std::size_t positionals = 0;
  std::vector<std::string>* rest = nullptr;
  std::string rest_name;
  Need rest_need = Need::optional;
};

namespace {

// What CLI11 prints between the usage line and the examples.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override { return "Usage: " + app->get_name() + "\n"; }
};

}  // namespace

Arguments::Arguments(const Command& command) : command_(command), parser_(std::make_unique<Parser>()) {
  CLI::App& app = parser_->app;
  app.name(std::string(command.program) + " " + std::string(command.name) + (command.usage.empty() ? "" : " ") +
           std::string(command.usage));
  app.description(std::string(command.summary));
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(34);
  app.set_help_flag("-h,--help", "Print this help");
  if (!command.examples.empty()) app.footer("Examples:\n" + std::string(command.examples));
}

Arguments::~Arguments() = default;

void Arguments::flag(const std::string& names, bool& value, const std::string& help) {
  parser_->app.add_flag(names, value, help);
}

void Arguments::text(const std::string& names, std::string& value, const std::string& metavar,
                     const std::string& help) {
  parser_->app.add_option(names, value, help)
      ->type_name(metavar)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Arguments::texts(const std::string& names, std::vector<std::string>& values, const std::string& metavar,
                      const std::string& help) {
  parser_->app.add_option(names, values, help)->type_name(metavar)->expected(1)->take_all()->allow_extra_args(false);
}

void Arguments::value(const std::string& names, const std::string& metavar, const std::string& help,
                      std::function<Result<void>(const std::string&)> set) {
  const auto apply = [names, set = std::move(set)](const std::string& text) {
    if (auto done = set(text); !done) {
      const std::string shown = names.substr(names.rfind(',') + 1);
      throw CLI::ValidationError(shown, done.error().message);
    }
  };
  parser_->app.add_option_function<std::string>(names, apply, help)
      ->type_name(metavar)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Arguments::duration(const std::string& names, std::chrono::milliseconds& value, const std::string& help) {
  this->value(names, "TIME", help, [&value](const std::string& text) -> Result<void> {
    COVE_TRY(value, parse_duration(text));
    return {};
  });
}

void Arguments::positional(const std::string& name, std::string& value, Need need, const std::string& help) {
  parser_->app.add_option(name, value, help)->required(need == Need::required)->type_name(" ");
  ++parser_->positionals;
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  parser_->app.add_option(name, values, help)->required()->type_name(" ");
  parser_->positionals = 1'000'000;
}

void Arguments::rest(const std::string& name, std::vector<std::string>& words, Need need) {
  parser_->rest = &words;
  parser_->rest_name = name;
  parser_->rest_need = need;
}

// How many words an option takes: itself, and its value when that is not in the same word.
std::size_t Arguments::words_of_option(const std::string& word) const {
  const std::size_t equals = word.find('=');
  const bool is_long = word.starts_with("--");
  if (is_long && equals != std::string::npos) return 1;
  // Of "-it" the last letter decides; of "-eK=V" the first one takes the rest of the word.
  for (std::size_t at = 1; at < (is_long ? 2 : word.size()); ++at) {
    const std::string name = is_long ? word : std::string("-") + word[at];
    const CLI::Option* option = parser_->app.get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    return is_long || at + 1 == word.size() ? 2 : 1;
  }
  return 1;
}

std::vector<std::string> Arguments::cut_rest(std::vector<std::string>& words) const {
  std::size_t before = parser_->positionals;
  std::size_t at = 0;
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      words.resize(at);
      return rest;
    }
    if (word.size() > 1 && word[0] == '-')
      at += words_of_option(word) - 1;
    else if (before == 0)
      break;
    else
      --before;
  }
  at = std::min(at, words.size());
  std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  words.resize(at);
  return rest;
}

std::optional<int> Arguments::parse(std::vector<std::string> words) {
  std::vector<std::string> rest;
  if (parser_->rest != nullptr) rest = cut_rest(words);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    parser_->app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    print(parser_->app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  if (parser_->rest == nullptr) return std::nullopt;
  if (rest.empty() && parser_->rest_need == Need::required) return usage_error(parser_->rest_name + " is missing");
  *parser_->rest = std::move(rest);
  return std::nullopt;
}

int Arguments::usage_error(const std::string& message) const {
  complain(message + "\nTry '" + std::string(command_.program) + " " + std::string(command_.name) + " --help'.");
  return kUsageError;
}

std::vector<Arguments::OptionInfo> Arguments::options() const {
  std::vector<OptionInfo> all;
  for (const CLI::Option* option : parser_->app.get_options()) {
    if (!option->nonpositional()) continue;
    OptionInfo info{.names = {},
                    .takes_value = option->get_items_expected_max() > 0,
                    .metavar = option->get_items_expected_max() > 0 ? option->get_type_name() : "",
                    .help = option->get_description()};
    for (const std::string& name : option->get_snames()) info.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) info.names.push_back("--" + name);
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<Arguments::OptionInfo> Arguments::positionals() const {
  std::vector<OptionInfo> all;
  for (const CLI::Option* option : parser_->app.get_options()) {
    if (option->get_positional())
      all.push_back({.names = {option->get_name(true)}, .takes_value = true, .help = option->get_description()});
  }
  return all;
}

}  // namespace cove::cli
