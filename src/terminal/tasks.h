#pragma once

// Tasks and their sandboxes. A task is a caller's name for a piece of work; its sandbox is made when it is first used,
// once, however many threads ask at the same time, and lives until it is cleaned up, idle for its lifetime (its keeper
// sees to that, and never while a command runs, in the background or not), or this process ends.
//
//   not persistent   owned: it ends with this process, also by kill -9. Its name is the task's and a random part.
//   persistent       named by its task alone: stopped by cleanup and by idleness, found again by whoever asks next, in
//                    this process or another one, with its files and sessions; running commands are found running.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json_box.h"
#include "client/cove.h"
#include "terminal/settings.h"

namespace cove::terminal {

// What a persistent task's sandbox is called.
std::string sandbox_of(const std::string& task);

class Tasks {
 public:
  Tasks() = default;
  ~Tasks();  // as cleanup_all
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  struct Use {
    std::shared_ptr<Sandbox> sandbox;
    std::string recreated;           // why what the task had before is not there any more; "" mostly
    std::optional<std::string> cwd;  // of its session, as far as known
    bool made = false;               // by this call
  };
  // The task's sandbox, made if need be. Waits for whoever makes it already; a stopped call stops only its own waiting
  // or making.
  Result<Use> use(const std::string& task, const Settings& settings, const Call& call);
  // Only one that is there: a task of this process, else a persistent one that runs. not_found otherwise.
  Result<std::shared_ptr<Sandbox>> find(const std::string& task);
  std::vector<std::pair<std::string, std::shared_ptr<Sandbox>>> all() const;  // of this process

  // About the task's sandbox, as far as known without making it. It stays what it was made as, whatever is asked for
  // since.
  struct Known {
    std::optional<std::string> cwd;
    bool isolated = true;
  };
  Known known(const std::string& task) const;
  void note_cwd(const std::string& task, const std::string& cwd);

  // What register_overrides() gave for the task; null if nothing.
  JsonBox overrides(const std::string& task) const;
  void set_overrides(const std::string& task, JsonBox overrides);

  // Ends the task's sandbox, also while it is being made. `remove` forgets the files of a persistent one, too, whether
  // it runs or not. False: there was nothing. Idempotent.
  enum class Fate : unsigned char { keep, remove };
  Result<bool> cleanup(const std::string& task, Fate fate, const Call& call = {});
  void cleanup_all();

  // In the child of a fork(): forgets everything without ending anything.
  void disown() noexcept;

 private:
  struct Task {
    std::timed_mutex making;
    std::mutex mutex;  // of what follows
    std::shared_ptr<Sandbox> sandbox;
    std::stop_source stop_making;
    bool persistent = false, had_one = false;
    std::string backend;  // what it really is
    std::optional<std::string> cwd;
    Clock::time_point used{};
    std::chrono::milliseconds lifetime{};
  };

  std::shared_ptr<Task> entry(const std::string& task);
  std::shared_ptr<Sandbox> living(Task& task) const;
  static Result<Use> use_of(const std::string& name, Task& task, std::shared_ptr<Sandbox> sandbox,
                            const Settings& settings);
  Result<Use> make(const std::string& name, Task& task, const Settings& settings, const Call& call);
  void drop_the_dead();
  bool is_left_alone(Task& task) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Task>> tasks_;
  std::map<std::string, JsonBox> overrides_;
};

}  // namespace cove::terminal
