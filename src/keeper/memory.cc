// What runs in a Keeper's sandbox, saved with its memory, and gone on with: by this keeper or by another one's.

#include <poll.h>
#include <sys/epoll.h>

#include "backend/table.h"
#include "base/log.h"
#include "keeper/keeper.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;

constexpr auto kSave = 120s;
constexpr auto kGoOn = 60s;

// Of a snapshot with memory: the keeper's part of what runs.
struct Running {
  std::uint32_t version = proto::kVersion;
  proto::GuestHello hello;
  GuestLink::State link;
  SavedCommands commands;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.version, s.hello, s.link, s.commands);
  }
};

Result<Running> read_running(const record::Snapshot& saved) {
  auto running = proto::decode<Running>(saved.running);
  if (running && running->version == proto::kVersion) return running;
  return fail(Errc::invalid, "what runs in snapshot " + saved.tag +
                                 " is of another release, or damaged: remove it with "
                                 "'cove snapshot rm " +
                                 saved.tag + "'");
}

bool is_place_of(const SandboxSpec& spec, const record::Snapshot& saved) {
  record::Snapshot turned = saved;
  turned.place = spec;
  return record::check_place(spec, saved) && record::check_place(saved.place, turned);
}

}  // namespace

// The layer is named first, as in seal(). What is saved of the channel is what was so while nobody was connected.
Result<void> Keeper::save_memory(record::Snapshot& saved) {
  COVE_TRY(saved.memory, record::make_memory_directory());
  const std::string id = record::new_layer_id();
  COVE_CHECK(leave());
  const auto do_save = [&]() -> Result<bool> {
    COVE_TRY(GuestLink::State link, guest_.state());
    saved.running = proto::encode(Running{.hello = hello_, .link = std::move(link), .commands = commands_.save()});
    COVE_CHECK(record_.add_layer(id));
    return place_->save_memory_and_seal(saved.memory, id, Deadline::after(kSave));
  };
  const auto sealed = do_save();
  log_event(sealed ? "sandbox.saved" : "sandbox.not_saved", {{"sandbox", record_.name()}});
  COVE_CHECK(come_back());
  if (!sealed || !*sealed) COVE_CHECK(record_.write_spec(spec_));
  if (!sealed) return fail(sealed.error());
  if (*sealed) spec_.layers.push_back(id);
  saved.place = spec_;
  return {};
}

// The guest runs and waits; the first channel to it may still be refused.
Result<void> Keeper::go_on_with(const record::Snapshot& saved, Deadline deadline) {
  COVE_TRY(const Running running, read_running(saved));
  guest_ = GuestLink(guest_.give_up(), running.link);
  COVE_CHECK(commands_.go_on_with(running.commands));
  hello_ = running.hello;
  before_ = saved.sessions;
  while (!guest_.in_step()) {
    const bool open = guest_.flush().has_value();
    pollfd ready{guest_.in_fd(), POLLIN, 0};
    poll(&ready, 1, deadline.poll_timeout());
    COVE_TRY(const auto read, guest_.receive([this](const proto::Message& message) { return take(message); }));
    if (deadline.passed()) return fail(Errc::timeout, "what was saved did not answer in time");
    if (open && read != GuestLink::Read::end) continue;
    if (place_is_gone(1s)) return fail(Errc::disconnected, place_->ended().why + " before it went on");
    COVE_TRY(Channel channel, place_->connect(deadline));
    guest_.reopen(std::move(channel));
  }
  return {};
}

Result<std::unique_ptr<Place>> Keeper::place_from(const record::Snapshot& saved, const SandboxSpec& spec) {
  COVE_TRY(Backend * backend, find_backend(spec.backend));
  SandboxSpec placed = spec;
  COVE_TRY(const std::string home, record::home());
  placed.directory = home + "/sandboxes/" + record_.name();
  placed.memory = saved.memory;
  return backend->start(placed, Deadline::after(kGoOn));
}

// Another place in this one's stead, in which goes on what was saved; what ran here is lost, and so are its files,
// unless they are kept for good: those are sealed, so that a crash in between leaves the sandbox as it was.
Result<void> Keeper::change_place(const record::Snapshot& saved) {
  if (!is_place_of(spec_, saved))
    return fail(Errc::conflict, "snapshot " + saved.tag +
                                    " was taken behind other walls or limits than those of sandbox " + record_.name() +
                                    ": 'cove create --from " + saved.tag + "' makes a sandbox of it");
  COVE_CHECK(read_running(saved));
  if (spec_.persistent) {
    const auto sealed = seal();
    if (!sealed && sealed.error().code != Errc::unsupported) return fail(sealed.error());
  }
  SandboxSpec next = spec_;
  next.layers = saved.layers;
  COVE_CHECK(record_.write_spec(next));
  lose_channel();
  reconnect_until_ = Deadline::never();
  commands_.lose_all("its sandbox went back to an earlier state");
  const auto exchange = [&]() -> Result<void> {
    if (place_->gone_fd() >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, place_->gone_fd(), nullptr);
    COVE_CHECK(place_->destroy(Deadline::after(10s)));
    COVE_TRY(place_, place_from(saved, next));
    const Deadline deadline = Deadline::after(kGoOn);
    COVE_TRY(Channel channel, place_->connect(deadline));
    guest_ = GuestLink(std::move(channel));
    COVE_CHECK(go_on_with(saved, deadline));
    COVE_CHECK(watch_guest());
    return watch_gone();
  };
  if (auto exchanged = exchange(); !exchanged) {
    begin_end({"it could not go back: " + exchanged.error().message, false, false}, 0);
    return exchanged;
  }
  spec_.layers = std::move(next.layers);
  sessions_changed_ = spec_.persistent;
  return {};
}

}  // namespace cove::keeper
