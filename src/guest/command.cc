#include "guest/command.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "os/pty.h"
#include "proto/frame.h"

namespace cove::guest {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::uint32_t kGrantBytes = proto::kStdinWindow / 4;
constexpr char kEndOfTransmission = 4;

std::size_t bytes_in(const UniqueFd& pipe) {
  int bytes = 0;
  return pipe && ioctl(pipe.get(), FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace

Command::~Command() {
  for (const UniqueFd* fd : {&process_.input, &process_.out, &process_.err}) loop_.forget(fd->get());
  if (shell_) loop_.forget(shell_->news.get());
}

template <class T>
void Command::send(proto::GuestType type, const T& message) {
  proto::append_message(host_.channel(), static_cast<std::uint8_t>(type), id_, proto::encode(message));
}

void Command::adopt(Process process) {
  waiting_ = nullptr;
  process_ = std::move(process);
  process_.tree->listen({.started = [this] { send_started(); },
                         .failed = [this](const Error& error) { on_failed(error); },
                         .exited = [this](os::ExitStatus status) { on_exited(status); },
                         .gone = [this] { on_tree_gone(); }});
  if (process_.tree->main_pid() != 0) send_started();
  watch_streams();
}

void Command::send_started() {
  send(proto::GuestType::started, proto::Started{static_cast<std::uint32_t>(process_.tree->main_pid())});
}

void Command::adopt(std::unique_ptr<Shell> shell, Session& session, bool own_cwd) {
  shell_ = std::move(shell);
  session_ = &session;
  own_cwd_ = own_cwd;
  adopt(std::move(shell_->process));
  loop_.watch(shell_->news.get(), EPOLLIN, [this](std::uint32_t) { on_news(); });
  host_.shell_used(session, shell_->plumbing, Session::Moment::command_started);
}

void Command::adopt_socket(UniqueFd socket) {
  socket_ = tree_gone_ = true;
  process_.input.reset(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  process_.out = std::move(socket);
  send(proto::GuestType::started, proto::Started{});
  watch_streams();
}

void Command::refuse(const Error& error, int exit_code) {
  waiting_ = nullptr;
  exited_.error = error.code;
  exited_.error_text = error.message;
  exited_.exit_code = exit_code;
  exit_known_ = tree_gone_ = true;
  send_exited();
}

void Command::watch_streams() {
  loop_.watch(process_.out.get(), EPOLLIN,
              [this](std::uint32_t) { read_output(process_.out, proto::GuestType::output_out); });
  if (process_.err) {
    loop_.watch(process_.err.get(), EPOLLIN,
                [this](std::uint32_t) { read_output(process_.err, proto::GuestType::output_err); });
  }
  if (!process_.input) return;
  loop_.watch(process_.input.get(), 0, [this](std::uint32_t) { flush_stdin(); });
  if (!stdin_.empty() || stdin_ended_) flush_stdin();
}

void Command::read_output(UniqueFd& source, proto::GuestType type) {
  // Some rounds at once, then other commands have their turn.
  for (int round = 0; round < 4 && source; ++round) {
    if (credit_ <= 0 || host_.channel_is_full()) {
      pause_output(true);
      break;
    }
    if (!read_some(source, type)) break;
  }
  try_finish();
  send_gone_if_done();
}

// False: nothing more is there now.
bool Command::read_some(UniqueFd& source, proto::GuestType type) {
  const std::size_t want = std::min(kReadBytes, static_cast<std::size_t>(credit_));
  char* into = proto::begin_frame(host_.channel(), want);
  const ssize_t n = read(source.get(), into, want);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {  // a pty says EIO when its last process has let go
    loop_.forget(source.get());
    source.reset();
    return false;
  }
  const auto bytes = static_cast<std::size_t>(n);
  proto::commit_frame(host_.channel(), static_cast<std::uint8_t>(type), id_, bytes);
  credit_ -= n;
  std::size_t& before = type == proto::GuestType::output_err ? err_before_exit_ : out_before_exit_;
  before -= std::min(before, bytes);
  return bytes == want;
}

void Command::pause_output(bool paused) {
  if (paused_ == paused) return;
  paused_ = paused;
  for (const UniqueFd* fd : {&process_.out, &process_.err}) {
    if (*fd) loop_.change(fd->get(), paused ? 0U : EPOLLIN);
  }
}

void Command::output_credit(std::uint32_t bytes) {
  credit_ += bytes;
  resume();
}

void Command::resume() {
  if (credit_ <= 0 || host_.channel_is_full()) return;
  pause_output(false);
  if (exit_known_ && !exit_sent_) {
    if (process_.out) read_output(process_.out, proto::GuestType::output_out);
    if (process_.err) read_output(process_.err, proto::GuestType::output_err);
  }
}

void Command::stdin_data(std::string_view bytes) {
  if (waiting_ == nullptr && !process_.input) return;
  stdin_.append(bytes);
  if (process_.input) flush_stdin();
}

void Command::stdin_eof() {
  stdin_ended_ = true;
  if (process_.input) flush_stdin();
}

void Command::flush_stdin() {
  while (!stdin_.empty()) {
    const ssize_t n = write(process_.input.get(), stdin_.view().data(), stdin_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return loop_.change(process_.input.get(), EPOLLOUT);
    if (n <= 0) return close_stdin();
    stdin_.consume(static_cast<std::size_t>(n));
    stdin_granted_ += static_cast<std::uint32_t>(n);
  }
  if (stdin_ended_ && !process_.pty) return close_stdin();
  if (std::exchange(stdin_ended_, false)) {
    stdin_.append(std::string_view(&kEndOfTransmission, 1));
    return flush_stdin();
  }
  loop_.change(process_.input.get(), 0);
  if (stdin_granted_ >= kGrantBytes) grant_stdin(std::exchange(stdin_granted_, 0));
}

// Also when nobody reads any more: then the keeper drops what it still has.
void Command::close_stdin() {
  if (!process_.input) return;
  stdin_.clear();
  loop_.forget(process_.input.get());
  if (socket_) shutdown(process_.input.get(), SHUT_WR);
  process_.input.reset();
  if (!stdin_ended_) grant_stdin(0);
}

void Command::grant_stdin(std::uint32_t bytes) { send(proto::GuestType::stdin_credit, proto::Credit{bytes}); }

void Command::signal(const proto::Signal& signal) {
  if (socket_ && signal.signal == 0) {
    ended_by_us_ = true;
    loop_.forget(process_.out.get());
    process_.out.reset();
    close_stdin();
    return try_finish();
  }
  if (waiting_ != nullptr && signal.signal == 0 && waiting_->cancel(id_)) {
    waiting_ = nullptr;
    exited_.exit_code = 128 + SIGTERM;
    exited_.signal = SIGTERM;
    exit_known_ = tree_gone_ = ended_by_us_ = true;
    return send_exited();
  }
  if (!process_.tree) return;
  if (signal.signal == 0) {
    ended_by_us_ = true;
    process_.tree->end(std::chrono::milliseconds(signal.grace_ms));
    return;
  }
  pid_t foreground = 0;
  if (process_.pty && process_.out && ioctl(process_.out.get(), TIOCGPGRP, &foreground) == 0 && foreground > 0) {
    kill(-foreground, signal.signal);
  } else {
    process_.tree->signal_group(signal.signal);
  }
}

void Command::resize(const proto::Resize& size) {
  if (!process_.pty || !process_.out) return;
  [[maybe_unused]] const auto done = os::resize_pty(process_.out.get(), size.rows, size.columns);
}

void Command::forget() {
  if (!process_.tree || tree_gone_) return;
  ended_by_us_ = true;  // its shell runs nothing else
  process_.tree->end(std::chrono::seconds(2));
}

void Command::on_failed(const Error& error) {
  exited_.error = error.code;
  exited_.error_text = error.message;
  on_exited({.code = error.code == Errc::not_found ? 127 : 126, .signal = 0});
}

// The shell has told how its command ended; what is left is its state and its own end. Nobody has to wait for those.
void Command::on_news() {
  std::array<char, 8> bytes{};
  const ssize_t n = read(shell_->news.get(), bytes.data(), bytes.size());
  if (n <= 0) return loop_.forget(shell_->news.get());
  const std::string_view news(bytes.data(), static_cast<std::size_t>(n));
  const auto told = [&](char what) { return news.find(what) != std::string_view::npos; };
  if (!exit_known_ && !ended_by_us_ && told(session::kEnded)) {
    ending_ = session_->ending(*shell_);
    if (ending_) on_exited({.code = ending_->status, .signal = 0});
  }
  if (told(session::kEnded)) host_.shell_waits(id_);
  if (ending_ && (told(session::kCaptured) || told(session::kWaits))) return settle(told(session::kWaits));
  if (told(session::kWaits)) shell_->go.reset();  // it ends
}

void Command::let_go() {
  if (shell_) [[maybe_unused]]
    const ssize_t n = write(shell_->go.get(), session::kHeard.data(), session::kHeard.size());
}

void Command::settle(bool shell_waits) {
  if (!ending_ || std::exchange(settled_, true)) return;
  const Plumbing plumbing = shell_->plumbing;
  const bool current = session_->finish(*shell_, ending_->status, own_cwd_);
  const bool told_all = exit_sent_ && !ended_by_us_ && bytes_in(process_.out) == 0 && bytes_in(process_.err) == 0;
  if (current && told_all && shell_waits && session_->can_take_back(*shell_, process_))
    give_shell_back();
  else
    shell_->go.reset();  // it ends
  session_->settle();
  host_.shell_used(*session_, plumbing, Session::Moment::command_ended);
}

void Command::give_shell_back() {
  for (const UniqueFd* fd : {&process_.out, &process_.err, &shell_->news}) loop_.forget(fd->get());
  process_.tree->listen({});
  shell_->process = std::exchange(process_, {});
  session_->take_back(std::move(shell_));
  on_tree_gone();
}

// What was written before the main process ended belongs to the command, and is in the pipes by now. What background
// jobs write later follows as it comes, and is not waited for.
void Command::on_exited(os::ExitStatus status) {
  if (std::exchange(exit_known_, true)) return settle(false);
  exited_.exit_code = status.code;
  exited_.signal = status.signal;
  if (status.code == 128 + SIGKILL && !ended_by_us_) exited_.oom = host_.memory_ran_out();
  out_before_exit_ = bytes_in(process_.out);
  err_before_exit_ = bytes_in(process_.err);
  if (process_.out) read_output(process_.out, proto::GuestType::output_out);
  if (process_.err) read_output(process_.err, proto::GuestType::output_err);
  try_finish();
}

void Command::on_tree_gone() {
  tree_gone_ = true;
  try_finish();
  send_gone_if_done();
}

void Command::try_finish() {
  if (socket_ && !process_.out) exit_known_ = true;
  if (exit_sent_ || !exit_known_ || out_before_exit_ > 0 || err_before_exit_ > 0) return;
  if (ended_by_us_ && !tree_gone_) return;  // exactly the command dies, and all of it, before we say so
  send_exited();
}

void Command::send_exited() {
  exit_sent_ = true;
  close_stdin();
  if (ending_) {
    exited_.cwd = own_cwd_ ? session_->state().cwd : ending_->cwd;
  } else if (session_ != nullptr) {
    if (!ended_by_us_) session_->finish(*shell_, exited_.exit_code, own_cwd_);
    exited_.cwd = session_->state().cwd;
    host_.shell_used(*session_, shell_->plumbing, Session::Moment::command_ended);
  }
  host_.keep_files();
  send(proto::GuestType::exited, exited_);
  send_gone_if_done();
}

// Nothing writes any more once the tree is gone: what is left in the pipes is read first, within credit.
void Command::send_gone_if_done() {
  if (!exit_sent_ || !tree_gone_ || gone_sent_) return;
  if (bytes_in(process_.out) > 0 || bytes_in(process_.err) > 0) return;
  gone_sent_ = true;
  proto::append_message(host_.channel(), static_cast<std::uint8_t>(proto::GuestType::gone), id_, {});
  host_.command_gone(id_);
}

}  // namespace cove::guest
