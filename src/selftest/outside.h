#pragma once

// What stands on the host for a sandbox to run into: a process and sockets.

#include <sys/socket.h>

#include <cstdint>

#include "os/child.h"

namespace cove::selftest {

// A process with a secret in its arguments, its environment and its memory. It waits to be killed.
class HostProcess {
 public:
  static Result<HostProcess> start(const std::string& program, const std::string& secret);
  std::string pid() const { return std::to_string(child_.pid()); }
  const std::string& address() const { return address_; }  // of the secret in its memory, as in "0x55..."
  std::string memory() const;                              // what stands there now
  int niceness() const;
  bool alive() { return !child_.poll(); }
  void kill();

 private:
  HostProcess(os::Child child, std::string address) : child_(std::move(child)), address_(std::move(address)) {}
  os::Child child_;
  std::string address_;
};

// A socket that nobody has a reason to speak to.
class Listener {
 public:
  static Result<Listener> tcp(const std::string& address);
  static Result<Listener> udp(const std::string& address);
  static Result<Listener> unix_at(const std::string& path);  // '@' in front: abstract

  std::string port() const { return std::to_string(port_); }
  // Whether somebody has connected or sent something since the last call.
  bool visited();
  // Whoever comes within this time is handed a descriptor (SCM_RIGHTS) and let go; false: nobody came.
  bool hand_out(int gift, std::chrono::milliseconds patience);

 private:
  Listener(UniqueFd socket, std::uint16_t port) : socket_(std::move(socket)), port_(port) {}
  static Result<Listener> listen_at(const sockaddr* address, socklen_t size, int type);
  UniqueFd socket_;
  std::uint16_t port_ = 0;
};

// Runs a program on the host and gives what it says, on both streams; killed at the deadline.
std::string host_output(const std::vector<std::string>& argv, Deadline deadline);

// An address of this machine other than loopback, or "".
std::string own_address();

}  // namespace cove::selftest
