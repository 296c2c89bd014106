#include "client/control.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace cove {
namespace {

void add_one(int fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = write(fd, &one, sizeof(one));
}

}  // namespace

Control::State::State() : event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Control::State::wake() const { add_one(event.get()); }

void Control::State::drain() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = read(event.get(), &count, sizeof(count));
}

Control::Control() : state_(std::make_shared<State>()) {}

void Control::interrupt() {
  state_->interrupt = true;
  state_->wake();
}

void Control::signal(int number) {
  if (number < 1 || number > 63) return;
  state_->signals |= std::uint64_t{1} << number;
  state_->wake();
}

void Control::resize(std::uint16_t rows, std::uint16_t columns) {
  state_->size = static_cast<std::uint32_t>(rows) << 16 | columns;
  state_->wake();
}

StopEvent::StopEvent(const std::stop_token& token) {
  if (!token.stop_possible()) return;
  event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  callback_.emplace(token, Write{event_.get()});
}

void StopEvent::Write::operator()() const { add_one(fd); }

}  // namespace cove
