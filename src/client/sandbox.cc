#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "client/control.h"
#include "client/from.h"
#include "client/image.h"
#include "client/launch.h"
#include "client/pool.h"
#include "policy/env.h"

namespace cove {
namespace {

constexpr std::chrono::seconds kDestroyTime{10};

Error not_running(const record::Record& record, Error error) {
  const auto info = record.info();
  if (!info) return error;
  if (info->life == record::Life::running)
    return Error{Errc::disconnected,
                 "sandbox '" + record.name() + "' is being started or ended: try again in a moment"};
  std::string text = "sandbox '" + record.name() + "' does not run";
  if (!info->why.empty()) text += ": " + info->why;
  if (info->life == record::Life::stopped) text += "; start it with 'cove start " + record.name() + "'";
  return Error{Errc::disconnected, std::move(text)};
}

// Waits for the answer's first byte; the only place where a plain request can be stopped.
Result<void> wait_readable(int socket, const StopEvent& stop, Deadline deadline) {
  while (true) {
    pollfd fds[2] = {{socket, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    const int n = poll(fds, 2, deadline.poll_timeout());
    if (n < 0 && errno != EINTR) return fail_errno("wait for the keeper");
    if (n > 0 && fds[1].revents != 0) return fail(Errc::cancelled, "the call was stopped");
    if (n > 0) return {};
    if (deadline.passed()) return fail(Errc::timeout, "the keeper has not answered in time");
  }
}

}  // namespace

Result<Sandbox> Sandbox::create(const SandboxSpec& spec, const Call& call) {
  SandboxSpec whole = spec;
  if (whole.name.empty()) whole.name = record::make_name();
  COVE_CHECK(record::check_name(whole.name));
  if (!whole.from.empty()) COVE_CHECK(stand_on_snapshot(whole));
  COVE_TRY(const UniqueFd held, hold_image(whole));
  COVE_TRY(auto image_env, settle_image(whole));
  if (whole.env.empty()) COVE_CHECK(policy::fill_env(whole, {.image = std::move(image_env)}, policy::host_env()));
  return launch(whole, false, call);
}

Result<Sandbox> Sandbox::restart(const std::string& name, const Call& call) {
  COVE_TRY(const auto opened, record::Record::open(name));
  COVE_TRY(const auto info, opened.info());
  // Whether it still runs is the lock's to say, for which a keeper waits a moment: one that was stopped or killed just
  // now may not have let go of it yet.
  SandboxSpec spec;
  spec.name = name;
  spec.backend = info.spec.backend;
  spec.env_names_forwarded = info.spec.env_names_forwarded;
  for (const auto& [key, value] : policy::host_env()) {
    const auto& forwarded = spec.env_names_forwarded;
    if (std::find(forwarded.begin(), forwarded.end(), key) != forwarded.end()) spec.env.emplace_back(key, value);
  }
  return launch(spec, true, call);
}

Result<Sandbox> Sandbox::launch(const SandboxSpec& spec, bool restart, const Call& call) {
  COVE_TRY(StartedKeeper started, start_keeper({.restart = restart, .spec = spec}, call));
  auto opened = open(spec.name);
  if (!opened && (opened.error().code == Errc::disconnected || opened.error().code == Errc::not_found))
    return fail(std::move(opened).error().because("sandbox '" + spec.name + "' ended as soon as it ran"));
  COVE_TRY(Sandbox sandbox, std::move(opened));
  sandbox.lifetime_ = std::move(started.lifetime);
  sandbox.notes_ = std::move(started.notes);
  return sandbox;
}

Result<Sandbox> Sandbox::open(const std::string& name) {
  COVE_TRY(auto opened, record::Record::open(name));
  auto socket = opened.connect();
  if (!socket) return fail(not_running(opened, std::move(socket).error()));
  Sandbox sandbox(std::make_unique<Pool>(std::move(opened)));
  sandbox.pool_->idle.push_back(std::make_unique<Connection>(std::move(*socket)));
  return sandbox;
}

Sandbox::Sandbox(std::unique_ptr<Pool> pool) : name_(pool->record.name()), pool_(std::move(pool)) {}
Sandbox::Sandbox(Sandbox&&) noexcept = default;

Sandbox& Sandbox::operator=(Sandbox&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(notes_, other.notes_);
  std::swap(lifetime_, other.lifetime_);
  std::swap(pool_, other.pool_);
  return *this;
}

// Asking is better than only closing the lifetime pipe: the answer says that nothing runs any more.
Sandbox::~Sandbox() {
  if (!lifetime_ || pool_ == nullptr) return;
  [[maybe_unused]] const auto done =
      stop({.remove = true, .grace_ms = 500}, {.deadline = Deadline::after(kDestroyTime), .stop = {}});
}

Result<std::unique_ptr<Sandbox::Connection>> Sandbox::borrow() {
  {
    const std::lock_guard guard(pool_->mutex);
    if (!pool_->idle.empty()) {
      auto connection = std::move(pool_->idle.back());
      pool_->idle.pop_back();
      return connection;
    }
  }
  auto socket = pool_->record.connect();
  if (!socket) return fail(not_running(pool_->record, std::move(socket).error()));
  return std::make_unique<Connection>(std::move(*socket));
}

// Neither closes the connections politely nor frees what other threads of the parent may have been using.
void Sandbox::disown() noexcept {
  lifetime_.reset();
  [[maybe_unused]] const auto* left = pool_.release();
}

// Nothing was asked on an idle connection, so that nothing but its end can come. Where there is none, another one
// tells.
bool Sandbox::hung_up() const {
  {
    const std::lock_guard guard(pool_->mutex);
    if (!pool_->idle.empty()) {
      pollfd end{pool_->idle.back()->fd(), POLLIN, 0};
      return poll(&end, 1, 0) > 0;
    }
  }
  auto socket = pool_->record.connect();
  if (!socket) return socket.error().code == Errc::disconnected;
  const std::lock_guard guard(pool_->mutex);
  pool_->idle.push_back(std::make_unique<Connection>(std::move(*socket)));
  return false;
}

void Sandbox::give_back(std::unique_ptr<Connection> connection) {
  if (!connection->reusable()) return;
  const std::lock_guard guard(pool_->mutex);
  if (pool_->idle.size() < Pool::kIdle) pool_->idle.push_back(std::move(connection));
}

// The keeper acts on whole messages only, so a request of which a part could not be written has not been begun.
// Each failure uses up an idle connection; after the last one a new one is opened, and its failure is the answer.
Result<std::unique_ptr<Sandbox::Connection>> Sandbox::request(proto::ClientType type, std::string_view payload) {
  for (std::size_t tries = 0;; ++tries) {
    COVE_TRY(auto connection, borrow());
    connection->send(type, payload);
    auto sent = connection->flush(Connection::Waiting::yes);
    if (sent) return connection;
    if (tries > Pool::kIdle) return fail(not_running(pool_->record, std::move(sent).error()));
  }
}

Result<std::string> Sandbox::ask(proto::ClientType type, std::string_view payload, proto::ClientType answer,
                                 const Call& call) {
  COVE_TRY(auto connection, request(type, payload));
  const StopEvent stop(call.stop);
  while (true) {
    COVE_TRY(const auto message, connection->next());
    if (message) {
      auto reply = expect(*message, answer);
      Result<std::string> copy = reply ? Result<std::string>(std::string(*reply)) : fail(std::move(reply).error());
      give_back(std::move(connection));
      return copy;
    }
    COVE_CHECK(wait_readable(connection->fd(), stop, call.deadline));
    if (auto filled = connection->fill(Connection::Waiting::no); !filled) return fail(explain(filled.error(), ""));
  }
}

}  // namespace cove
