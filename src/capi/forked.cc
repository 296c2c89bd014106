#include "capi/forked.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <set>

namespace cove::capi {
namespace {

// Never destroyed: threads may be in it while the process ends, and sandboxes that are owned end with it anyway.
std::atomic<terminal::Terminal*> the_tool{nullptr};
std::mutex& handles_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::set<Sandbox*>& handles() {
  static auto* all = new std::set<Sandbox*>;
  return *all;
}

void before_fork() { handles_mutex().lock(); }
void in_parent() { handles_mutex().unlock(); }

// A child that goes on to exec loses nothing by this; one that stays must not hold the parent's sandboxes alive.
void in_child() {
  for (Sandbox* sandbox : handles()) sandbox->disown();
  handles().clear();
  if (terminal::Terminal* tool = the_tool.exchange(nullptr)) tool->disown();
  handles_mutex().unlock();
}

void watch_forks() {
  static const int watched = pthread_atfork(before_fork, in_parent, in_child);
  static_cast<void>(watched);
}

}  // namespace

terminal::Terminal& tool() {
  if (terminal::Terminal* made = the_tool.load()) return *made;
  watch_forks();
  auto* made = new terminal::Terminal;
  terminal::Terminal* other = nullptr;
  if (the_tool.compare_exchange_strong(other, made)) return *made;
  delete made;
  return *other;
}

void remember(Sandbox* sandbox) {
  watch_forks();
  const std::lock_guard guard(handles_mutex());
  handles().insert(sandbox);
}

void forget(Sandbox* sandbox) {
  const std::lock_guard guard(handles_mutex());
  handles().erase(sandbox);
}

}  // namespace cove::capi
