#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/cove.h"
#include "table.h"

namespace cove::bench {

using Milliseconds = std::chrono::duration<double, std::milli>;

inline const std::vector<std::string> kBash = {"bash", "-c", "true"};  // what most rows are compared with

// Times of one thing done many times.
class Samples {
 public:
  void add(Milliseconds time) { times_.push_back(time.count()); }
  void time(const std::function<void()>& what);
  double percentile(double p) const;  // in ms
  double p50() const { return percentile(50); }

 private:
  std::vector<double> times_;
};

// Ready for a table: p50 as the value.
Row row(const std::string& what, const Samples& samples, const std::string& beside = "", double beside_value = 0,
        Promise promise = {});

// A program on the host by posix_spawn and wait, as cheaply as that goes; ends the benchmark if it cannot run.
void spawn_and_wait(const std::vector<std::string>& argv);
// Whether it ends well, and what it says on stdout; its stderr goes nowhere.
bool answers(const std::vector<std::string>& argv, std::string* out = nullptr);
// Its stdout through a plain pipe, read 64 KiB at a time; how many bytes came.
std::uint64_t read_through_pipe(const std::vector<std::string>& argv);
// These bytes through a plain pipe to its stdin.
void write_through_pipe(const std::vector<std::string>& argv, std::string_view bytes);

// The pause that a model's next thought takes is longer; this is enough for everything of ours to have settled.
void pause_between();

// The machinery must work before it can be measured.
[[noreturn]] void give_up(const std::string& why);
Sandbox make_sandbox();  // on `local`
Sandbox make_sandbox(const SandboxSpec& spec);
// A sandbox behind walls, whose shells read no login files: what `bash -c` in a peer's sandbox is.
SandboxSpec native_spec();
void run_true(Sandbox& sandbox);

// How long the whole report may take: 1 is the usual length, less is for a quick look (--quick).
struct Effort {
  double factor = 1;
  int times(int usual) const { return std::max(3, static_cast<int>(usual * factor)); }
};

}  // namespace cove::bench
