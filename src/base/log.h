#pragma once

// What our own programs tell about themselves: one event, one line, `event key=value key="two words"`. Off until a
// descriptor is given. Environment values, output and secrets are never logged: log names and numbers.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cove {

struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  template <class Number>
    requires std::is_integral_v<Number>
  LogField(std::string_view name, Number number) : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

// Lent, not owned; -1 turns logging off.
void log_to(int fd);
bool log_on();
// One write(), so that lines of several processes do not mix.
void log_event(std::string_view event, std::initializer_list<LogField> fields = {});

}  // namespace cove
