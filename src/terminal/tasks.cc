#include "terminal/tasks.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "backend/traits.h"
#include "client/nursery.h"
#include "record/record.h"
#include "terminal/make_sandbox.h"

namespace cove::terminal {
namespace {

constexpr std::chrono::seconds kEndTime{15};

Call until_end() { return {.deadline = Deadline::after(kEndTime), .stop = {}}; }

std::string why_gone(Clock::duration unused, std::chrono::milliseconds lifetime) {
  const bool idle = lifetime.count() > 0 && unused >= lifetime;
  std::string text = "the sandbox of this task had ended";
  if (idle) text += " after " + std::to_string(lifetime.count() / 1000) + " s without a command";
  return text + "; this is a new one: files, variables and background commands of before are gone";
}

}  // namespace

std::string sandbox_of(const std::string& task) { return record::name_for("task-" + task); }

Tasks::~Tasks() { cleanup_all(); }

std::shared_ptr<Tasks::Task> Tasks::entry(const std::string& task) {
  const std::lock_guard guard(mutex_);
  auto& found = tasks_[task];
  if (!found) found = std::make_shared<Task>();
  return found;
}

// One whose keeper has gone is as good as none; it is let go by whoever notices.
std::shared_ptr<Sandbox> Tasks::living(Task& task) const {
  std::shared_ptr<Sandbox> dead;
  const std::lock_guard guard(task.mutex);
  if (task.sandbox && task.sandbox->hung_up()) dead = std::exchange(task.sandbox, nullptr);
  if (task.sandbox) task.used = Clock::now();
  return task.sandbox;
}

// One that is asked for by name is never another one, also where a task has one already.
Result<Tasks::Use> Tasks::use_of(const std::string& name, Task& task, std::shared_ptr<Sandbox> sandbox,
                                 const Settings& settings) {
  const std::lock_guard guard(task.mutex);
  const std::string& wanted = settings.spec.backend;
  if (wanted != task.backend && (wanted != kAuto.name || !traits_of(task.backend).isolates))
    return fail(Errc::conflict, "task '" + name + "' has a sandbox of backend " + task.backend + ", and " + wanted +
                                    " is asked for: clean the task up first, or ask for the same");
  return Use{std::move(sandbox), "", task.cwd, false};
}

Result<Tasks::Use> Tasks::use(const std::string& name, const Settings& settings, const Call& call) {
  const std::shared_ptr<Task> task = entry(name);
  if (auto sandbox = living(*task)) return use_of(name, *task, std::move(sandbox), settings);
  while (!task->making.try_lock_for(std::chrono::milliseconds(50))) {
    if (call.stop.stop_requested()) return fail(Errc::cancelled, "the call was stopped while its sandbox was made");
    if (call.deadline.passed()) return fail(Errc::timeout, "the sandbox of this task was not ready in time");
  }
  const std::lock_guard making(task->making, std::adopt_lock);
  if (auto sandbox = living(*task)) return use_of(name, *task, std::move(sandbox), settings);
  drop_the_dead();
  return make(name, *task, settings, call);
}

// A cleanup that comes meanwhile stops it.
Result<Tasks::Use> Tasks::make(const std::string& name, Task& task, const Settings& settings, const Call& call) {
  std::stop_source stop;
  {
    const std::lock_guard guard(task.mutex);
    task.stop_making = stop;
  }
  const std::stop_callback chain(call.stop, [&stop] { stop.request_stop(); });
  COVE_TRY(Made made, make_sandbox(name, settings, {.deadline = call.deadline, .stop = stop.get_token()}));
  const std::lock_guard guard(task.mutex);
  Use use{std::make_shared<Sandbox>(std::move(made.sandbox)), "", std::nullopt, true};
  use.recreated = use.sandbox->notes();
  if (use.recreated.empty() && task.had_one && !made.found)
    use.recreated = why_gone(Clock::now() - task.used, task.lifetime);
  if (!made.found && !settings.spec.cwd.empty()) use.cwd = settings.spec.cwd;
  task.sandbox = use.sandbox;
  task.persistent = settings.spec.persistent;
  task.backend = made.backend;
  task.had_one = true;
  task.cwd = use.cwd;
  task.used = Clock::now();
  task.lifetime = settings.lifetime;
  return use;
}

// Sandboxes end by themselves; what is held for them here goes when somebody makes another one.
void Tasks::drop_the_dead() {
  std::vector<std::shared_ptr<Task>> tasks;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [name, task] : tasks_) tasks.push_back(task);
  }
  for (const auto& task : tasks) {
    std::shared_ptr<Sandbox> dead;
    const std::unique_lock guard(task->mutex, std::try_to_lock);
    if (guard && task->sandbox && task->sandbox->hung_up()) dead = std::exchange(task->sandbox, nullptr);
  }
}

Result<std::shared_ptr<Sandbox>> Tasks::find(const std::string& name) {
  std::shared_ptr<Task> task;
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = tasks_.find(name); found != tasks_.end()) task = found->second;
  }
  if (task) {
    if (auto sandbox = living(*task)) return sandbox;
  }
  COVE_TRY(Sandbox opened, Sandbox::open(sandbox_of(name)));
  return std::make_shared<Sandbox>(std::move(opened));
}

std::vector<std::pair<std::string, std::shared_ptr<Sandbox>>> Tasks::all() const {
  std::vector<std::pair<std::string, std::shared_ptr<Sandbox>>> living_ones;
  const std::lock_guard guard(mutex_);
  for (const auto& [name, task] : tasks_) {
    const std::lock_guard inner(task->mutex);
    if (task->sandbox) living_ones.emplace_back(name, task->sandbox);
  }
  return living_ones;
}

Tasks::Known Tasks::known(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  const auto found = tasks_.find(name);
  if (found == tasks_.end()) return {};
  const std::lock_guard inner(found->second->mutex);
  return {found->second->cwd, traits_of(found->second->backend).isolates || !found->second->sandbox};
}

void Tasks::note_cwd(const std::string& name, const std::string& cwd) {
  const std::shared_ptr<Task> task = entry(name);
  const std::lock_guard guard(task->mutex);
  task->cwd = cwd;
}

JsonBox Tasks::overrides(const std::string& task) const {
  const std::lock_guard guard(mutex_);
  const auto found = overrides_.find(task);
  return found == overrides_.end() ? JsonBox() : found->second;
}

void Tasks::set_overrides(const std::string& task, JsonBox overrides) {
  const std::lock_guard guard(mutex_);
  if (overrides.is_null())
    overrides_.erase(task);
  else
    overrides_[task] = std::move(overrides);
}

Result<bool> Tasks::cleanup(const std::string& name, Fate fate, const Call& call) {
  std::shared_ptr<Task> task;
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = tasks_.find(name); found != tasks_.end()) task = found->second;
  }
  bool ended = false;
  if (task) {
    {
      const std::lock_guard guard(task->mutex);
      task->stop_making.request_stop();
    }
    const std::lock_guard making(task->making);
    std::shared_ptr<Sandbox> sandbox;
    bool keep = false;
    {
      const std::lock_guard guard(task->mutex);
      sandbox = std::exchange(task->sandbox, nullptr);
      task->had_one = false;
      keep = task->persistent && fate == Fate::keep;
      task->cwd.reset();
    }
    if (sandbox)
      COVE_CHECK(sandbox->stop({.remove = !keep, .grace_ms = 500}, call.deadline.is_never() ? until_end() : call));
    ended = sandbox != nullptr;
  }
  // A persistent one that another process has made.
  if (!ended && fate == Fate::keep) {
    if (auto running = Sandbox::open(sandbox_of(name))) {
      COVE_CHECK(running->stop({.remove = false, .grace_ms = 500}, call.deadline.is_never() ? until_end() : call));
      ended = true;
    }
  }
  if (fate == Fate::remove) {
    auto removed = Sandbox::remove(sandbox_of(name), call.deadline.is_never() ? until_end() : call);
    if (!removed && removed.error().code != Errc::not_found) return fail(std::move(removed).error());
    ended = ended || removed;
  }
  const std::lock_guard guard(mutex_);
  // Nobody else has it, so nobody can make a second sandbox beside one that this entry knows.
  if (const auto found = tasks_.find(name); found != tasks_.end() && found->second == task && task.use_count() == 2)
    tasks_.erase(found);
  return ended;
}

// What runs in the background of a persistent sandbox is left to it; its keeper ends it when it is idle.
bool Tasks::is_left_alone(Task& task) const {
  std::shared_ptr<Sandbox> sandbox;
  {
    const std::lock_guard guard(task.mutex);
    if (task.persistent) sandbox = task.sandbox;
  }
  if (!sandbox) return false;
  const auto commands = sandbox->commands(until_end());
  return commands && std::any_of(commands->begin(), commands->end(),
                                 [](const Outcome& outcome) { return outcome.ending == Ending::running; });
}

// All at the same time: each takes as long as its processes need to end.
void Tasks::cleanup_all() {
  std::vector<std::string> names;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [name, task] : tasks_) names.push_back(name);
  }
  constexpr std::size_t kAtOnce = 16;
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < std::min(kAtOnce, names.size()); ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < names.size(); at = next++) {
        if (is_left_alone(*entry(names[at]))) continue;
        [[maybe_unused]] const auto done = cleanup(names[at], Fate::keep);
      }
    });
  }
  workers.clear();
  Nursery::of_this_process().close();
}

// A lock that another thread held when the process was copied is never let go of: what it guards is not touched.
void Tasks::disown() noexcept {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return;
  for (auto& [name, task] : tasks_) {
    if (task->sandbox) task->sandbox->disown();
  }
}

}  // namespace cove::terminal
