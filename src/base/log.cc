#include "base/log.h"

#include <unistd.h>

#include <ctime>

namespace cove {
namespace {

int log_fd = -1;

void append_value(std::string& line, const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \"\\\n\t=") == std::string::npos;
  if (plain) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  line += '"';
}

}  // namespace

void log_to(int fd) { log_fd = fd; }
bool log_on() { return log_fd >= 0; }

void log_event(std::string_view event, std::initializer_list<LogField> fields) {
  if (log_fd < 0) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::string line = std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec / 1'000'000 + 1000).substr(1) + " ";
  line += event;
  for (const LogField& field : fields) {
    (line += ' ').append(field.key) += '=';
    append_value(line, field.value);
  }
  line += '\n';
  [[maybe_unused]] const auto n = write(log_fd, line.data(), line.size());
}

}  // namespace cove
