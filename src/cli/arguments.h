#pragma once

// The options of one sub-command: CLI11 behind a plain header, so that one file pays for its templates.
// Values that are wrong end in one line on stderr that names the option, and in exit code 2.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"

namespace cove::cli {

enum class Need : unsigned char { optional, required };

class Arguments {
 public:
  explicit Arguments(const Command& command);
  ~Arguments();

  // Names as CLI11 takes them: "-t,--timeout".
  void flag(const std::string& names, bool& value, const std::string& help);
  void text(const std::string& names, std::string& value, const std::string& metavar, const std::string& help);
  void texts(const std::string& names, std::vector<std::string>& values, const std::string& metavar,
             const std::string& help);
  // A value with its own form; what `set` refuses is a usage error.
  void value(const std::string& names, const std::string& metavar, const std::string& help,
             std::function<Result<void>(const std::string&)> set);
  void duration(const std::string& names, std::chrono::milliseconds& value, const std::string& help);

  void positional(const std::string& name, std::string& value, Need need, const std::string& help);
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // Everything from the first word that is neither an option nor a positional, or from `--`, on; options end there.
  void rest(const std::string& name, std::vector<std::string>& words, Need need);

  // nullopt: go on. Otherwise the exit code, after help (0) or a usage error (2) has been printed.
  std::optional<int> parse(std::vector<std::string> words);
  // For what only the whole shows to be wrong: prints it, and the exit code.
  int usage_error(const std::string& message) const;

  struct OptionInfo {
    std::vector<std::string> names;
    bool takes_value = false;
    std::string metavar, help;
  };
  std::vector<OptionInfo> options() const;
  std::vector<OptionInfo> positionals() const;  // one name each

 private:
  std::vector<std::string> cut_rest(std::vector<std::string>& words) const;
  std::size_t words_of_option(const std::string& word) const;

  struct Parser;
  const Command& command_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace cove::cli
