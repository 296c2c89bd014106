#pragma once

#include <sys/types.h>

#include <string>

namespace cove::os {

// What /proc says of a process at this moment; one that is not there is not living.
struct ProcStat {
  char state = 'X';
  pid_t parent = 0;
  long threads = 0;
  unsigned long long began = 0;  // with its number this is who it is: no other one begins in the same tick
  unsigned long stack = 0;       // where it starts: random at each exec
  bool living() const { return state != 'X' && (state != 'Z' || threads > 1); }
  bool stopped() const { return state == 'T' || state == 't'; }  // by a signal, or by who traces it
};
ProcStat stat_of(pid_t pid);

// A whole file of /proc; "" if there is none.
std::string read_proc(const char* path);

}  // namespace cove::os
