#include "record/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "proto/codec.h"
#include "record/files.h"

namespace cove::record {
namespace {

constexpr const char* kFile = "history";
// So many are remembered, and so many more before the oldest are dropped at once.
constexpr std::size_t kMost = 10'000, kSpare = 1'000;

struct Stored {
  proto::Outcome outcome;
  std::string text, layer;
  std::uint64_t layers_before = 0;
  bool as_before = false;  // the sessions are those of the entry before
  std::vector<std::string> names, states;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.outcome, s.text, s.layer, s.layers_before, s.as_before, s.names, s.states);
  }
};

struct Head {
  std::uint64_t size = 0, sum = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.size, s.sum);
  }
};
constexpr std::size_t kHeadSize = 16;

std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string encode(const Done& done, const Done* before) {
  Stored stored{.outcome = done.outcome, .text = done.text, .layer = done.layer, .layers_before = done.layers_before};
  stored.as_before = before != nullptr && before->sessions_before == done.sessions_before;
  if (!stored.as_before) {
    for (const auto& [name, state] : *done.sessions_before) {
      stored.names.push_back(name);
      stored.states.push_back(state);
    }
  }
  const std::string body = proto::encode(stored);
  return proto::encode(Head{body.size(), sum_of(body)}) + body;
}

// The next entry, cut off; nothing if it is not whole.
std::optional<Done> next(std::string_view& bytes, const std::vector<Done>& before) {
  const auto head = proto::decode<Head>(bytes.substr(0, kHeadSize));
  if (!head || head->size > bytes.size() - kHeadSize) return std::nullopt;
  const std::string_view body = bytes.substr(kHeadSize, head->size);
  auto stored = sum_of(body) == head->sum ? proto::decode<Stored>(body) : fail(Errc::invalid, "a wrong sum");
  if (!stored || stored->names.size() != stored->states.size() || (stored->as_before && before.empty()))
    return std::nullopt;
  Done done{.outcome = std::move(stored->outcome),
            .text = std::move(stored->text),
            .layer = std::move(stored->layer),
            .layers_before = stored->layers_before,
            .sessions_before = stored->as_before ? before.back().sessions_before : nullptr};
  if (done.sessions_before == nullptr) {
    Sessions sessions;
    for (std::size_t i = 0; i < stored->names.size(); ++i) sessions[stored->names[i]] = stored->states[i];
    done.sessions_before = std::make_shared<const Sessions>(std::move(sessions));
  }
  bytes.remove_prefix(kHeadSize + head->size);
  return done;
}

bool fits(const Done& done, const std::vector<std::string>& layers) {
  if (done.layer.empty()) return done.layers_before <= layers.size();
  return done.layers_before < layers.size() && layers[done.layers_before] == done.layer;
}

}  // namespace

Result<History> History::open(int directory, const std::vector<std::string>& layers) {
  History history;
  history.directory_ = UniqueFd(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!history.directory_) return fail_errno("open the history");
  const auto bytes = read_file_at(directory, kFile);
  if (!bytes && bytes.error().code != Errc::not_found) return fail(bytes.error());
  std::string_view rest = bytes ? std::string_view(*bytes) : std::string_view();
  while (!rest.empty()) {
    auto done = next(rest, history.all_);
    if (!done || !fits(*done, layers)) break;
    history.all_.push_back(std::move(*done));
    history.ends_.push_back(bytes->size() - rest.size());
  }
  if (bytes) COVE_CHECK(history.cut(history.all_.size()));
  return history;
}

Result<void> History::append(const std::string& bytes) {
  if (!file_) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    file_ = UniqueFd(openat(directory_.get(), kFile, kFlags, 0600));
    if (!file_) return fail_errno("open the history");
  }
  const std::uint64_t end = ends_.empty() ? 0 : ends_.back();
  const ssize_t n = write(file_.get(), bytes.data(), bytes.size());
  if (n == static_cast<ssize_t>(bytes.size())) {
    ends_.push_back(end + bytes.size());
    return {};
  }
  Error error = errno_error(n < 0 ? errno : ENOSPC, "write the history");
  if (n > 0 && ftruncate(file_.get(), static_cast<off_t>(end)) < 0) error.message += ", nor take half of it back";
  return fail(std::move(error));
}

Result<void> History::add(Done done) {
  const Done* before = all_.empty() ? nullptr : &all_.back();
  if (before != nullptr && *before->sessions_before == *done.sessions_before)
    done.sessions_before = before->sessions_before;
  const bool complete = ends_.size() == all_.size();
  Result<void> added;
  if (directory_ && complete) added = append(encode(done, before));
  all_.push_back(std::move(done));
  if (all_.size() <= kMost + kSpare) return added;
  all_.erase(all_.begin(), all_.end() - kMost);
  return write_all_again();
}

Result<void> History::write_all_again() {
  if (!directory_) return {};
  file_.reset();
  ends_.clear();
  std::string bytes;
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    bytes += encode(all_[i], i == 0 ? nullptr : &all_[i - 1]);
    ends.push_back(bytes.size());
  }
  COVE_CHECK(write_file_at(directory_.get(), kFile, bytes));
  ends_ = std::move(ends);
  return {};
}

Result<void> History::cut(std::size_t left) {
  const bool complete = ends_.size() == all_.size();
  all_.resize(std::min(left, all_.size()));
  if (!complete) return write_all_again();
  ends_.resize(all_.size());
  if (!directory_) return {};
  const UniqueFd file(openat(directory_.get(), kFile, O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  if (!file || ftruncate(file.get(), ends_.empty() ? 0 : static_cast<off_t>(ends_.back())) < 0)
    return fail_errno("shorten the history");
  return {};
}

}  // namespace cove::record
