#pragma once

// One command of the keeper's: its process or socket, the bytes in and out within credit, and its end.

#include <memory>
#include <string>

#include "base/byte_queue.h"
#include "guest/process.h"
#include "guest/session.h"
#include "proto/guest.h"

namespace cove::guest {

class Command {
 public:
  // What a command needs of the guest around it.
  class Host {
   public:
    virtual ~Host() = default;
    virtual ByteQueue& channel() = 0;          // frames for the keeper
    virtual bool channel_is_full() const = 0;  // then nothing is read; resume() follows
    virtual void shell_used(Session& session, const Plumbing& plumbing, Session::Moment moment) = 0;
    // Its shell has told how it ended, and waits: let_go() is to follow once all that is for the keeper is sent.
    virtual void shell_waits(std::uint32_t id) = 0;
    // Whether the kernel has ended a process for want of memory since this was last asked.
    virtual bool memory_ran_out() { return false; }
    // What a command has written outlives this machine.
    virtual void keep_files() {}
    virtual void command_gone(std::uint32_t id) = 0;  // the Command is destroyed soon after, not in this call
  };

  Command(Loop& loop, Host& host, std::uint32_t id) : loop_(loop), host_(host), id_(id) {}
  ~Command();

  void wait_for(Session& session) { waiting_ = &session; }                   // until one of these is called:
  void adopt(Process process);                                               // a program or file work
  void adopt(std::unique_ptr<Shell> shell, Session& session, bool own_cwd);  // a session's shell
  void adopt_socket(UniqueFd socket);                                        // both directions
  void refuse(const Error& error, int exit_code = 125);                      // it could not be started

  void stdin_data(std::string_view bytes);
  void stdin_eof();
  void output_credit(std::uint32_t bytes);
  void signal(const proto::Signal& signal);
  void resize(const proto::Resize& size);
  void forget();  // ends what is left in the background
  void resume();  // the channel has room again
  void let_go();

 private:
  void watch_streams();
  void read_output(UniqueFd& source, proto::GuestType type);
  bool read_some(UniqueFd& source, proto::GuestType type);
  void pause_output(bool paused);
  void flush_stdin();
  void close_stdin();
  void grant_stdin(std::uint32_t bytes);
  void on_news();
  void settle(bool shell_waits);
  void give_shell_back();
  void on_failed(const Error& error);
  void on_exited(os::ExitStatus status);
  void on_tree_gone();
  void try_finish();
  void send_started();
  void send_exited();
  void send_gone_if_done();
  template <class T>
  void send(proto::GuestType type, const T& message);

  Loop& loop_;
  Host& host_;
  std::uint32_t id_;
  Process process_;
  bool socket_ = false;
  std::unique_ptr<Shell> shell_;
  Session* session_ = nullptr;
  Session* waiting_ = nullptr;  // has it in its queue
  bool own_cwd_ = false;
  std::optional<session::Ending> ending_;  // told by the shell
  bool settled_ = false;                   // and its state taken over since

  ByteQueue stdin_;
  bool stdin_ended_ = false;
  std::uint32_t stdin_granted_ = 0;  // written since the last grant
  std::int64_t credit_ = proto::kOutputWindow;
  bool paused_ = false;

  bool ended_by_us_ = false, exit_known_ = false, exit_sent_ = false, tree_gone_ = false, gone_sent_ = false;
  std::size_t out_before_exit_ = 0, err_before_exit_ = 0;  // in the pipes when the main process ended
  proto::Exited exited_;
};

}  // namespace cove::guest
