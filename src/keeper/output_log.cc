#include "keeper/output_log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cove::keeper {
namespace {

constexpr std::size_t kMaxRuns = 4096;  // per block: bounds what alternating streams cost
constexpr std::uint32_t kFirstBytes = 256;

proto::Stream stream_of(std::uint32_t run) { return static_cast<proto::Stream>(run & 1); }
std::uint32_t start_of(std::uint32_t run) { return run >> 1; }

// The run that `at` lies in: its stream and where it ends.
std::pair<proto::Stream, std::uint32_t> run_at(const std::uint32_t* runs, std::size_t count, std::uint32_t at,
                                               std::uint32_t size) {
  const auto* after = std::upper_bound(runs, runs + count, at,
                                       [](std::uint32_t value, std::uint32_t run) { return value < start_of(run); });
  return {stream_of(*(after - 1)), after == runs + count ? size : start_of(*after)};
}

template <class List>
auto block_at(const List& list, std::uint64_t offset) {
  return std::partition_point(list.begin(), list.end(),
                              [&](const auto& block) { return block.offset + block.size <= offset; });
}

bool read_exactly(int fd, void* to, std::size_t bytes, std::uint64_t position) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(fd, at, bytes, static_cast<off_t>(position));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
    position += static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

void OutputLog::append(proto::Stream stream, std::string_view bytes, std::uint64_t keep_from) {
  while (!bytes.empty()) {
    Block& block = block_for(bytes.size());
    const std::size_t n = std::min<std::size_t>(bytes.size(), block.capacity - block.size);
    if (block.runs.empty() || stream_of(block.runs.back()) != stream) {
      block.runs.push_back(block.size << 1 | static_cast<std::uint32_t>(stream));
    }
    std::memcpy(block.data.get() + block.size, bytes.data(), n);
    block.size += static_cast<std::uint32_t>(n);
    end_ += n;
    memory_bytes_ += n;
    bytes.remove_prefix(n);
  }
  evict(keep_from);
}

// The last block grows by doubling, so a command that prints a line costs a line, and one that prints much gets whole
// blocks.
OutputLog::Block& OutputLog::block_for(std::size_t bytes) {
  if (!blocks_.empty()) {
    Block& last = blocks_.back();
    if (last.runs.size() < kMaxRuns && last.size < last.capacity) return last;
    if (last.runs.size() < kMaxRuns && last.size < kBlockBytes) {
      const std::size_t want = std::max<std::size_t>(std::size_t{last.capacity} * 2, last.size + bytes);
      last.capacity = static_cast<std::uint32_t>(std::min(want, kBlockBytes));
      std::unique_ptr<char[]> larger(new char[last.capacity]);
      std::memcpy(larger.get(), last.data.get(), last.size);
      last.data = std::move(larger);
      return last;
    }
  }
  Block& fresh = blocks_.emplace_back();
  fresh.offset = end_;
  const std::size_t want = blocks_.size() > 1 ? kBlockBytes : std::max<std::size_t>(kFirstBytes, bytes);
  fresh.capacity = static_cast<std::uint32_t>(std::min(want, kBlockBytes));
  fresh.data.reset(new char[fresh.capacity]);
  return fresh;
}

void OutputLog::evict(std::uint64_t keep_from) {
  while (blocks_.size() > 1) {
    const std::size_t limit = past_cap() || file_failed_ ? kWindowBytes : kMemoryBytes;
    const Block& oldest = blocks_.front();
    if (memory_bytes_ - oldest.size < limit) return;
    // What goes to the file is not lost for anybody; only a block that would be dropped waits for its live readers.
    const bool whole = !file_failed_ && oldest.offset + oldest.size <= cap_;
    if (!whole && keep_from < oldest.offset + oldest.size) return;
    store(oldest, cap_);
    // The disk has just turned out to be full: this block, too, waits from now on.
    if (whole && file_failed_) continue;
    memory_bytes_ -= oldest.size;
    blocks_.erase(blocks_.begin());
  }
}

void OutputLog::store(const Block& block, std::uint64_t cap) {
  const std::uint64_t room = cap > block.offset ? cap - block.offset : 0;
  const auto keep = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, block.size));
  if (keep < block.size) gap_ = true;
  if (keep == 0 || file_failed_) {
    gap_ = true;
    return;
  }
  if (!file_ && access_) file_ = access_(stored_.empty() ? FileUse::make : FileUse::open);
  const std::size_t run_count = static_cast<std::size_t>(
      std::count_if(block.runs.begin(), block.runs.end(), [&](std::uint32_t run) { return start_of(run) < keep; }));
  iovec parts[2] = {{block.data.get(), keep},
                    {const_cast<std::uint32_t*>(block.runs.data()), run_count * sizeof(std::uint32_t)}};
  const std::size_t total = parts[0].iov_len + parts[1].iov_len;
  // A short write means a full disk; what was written is overwritten by nobody and read by nobody.
  if (!file_ || pwritev(file_.get(), parts, 2, static_cast<off_t>(file_position_)) != static_cast<ssize_t>(total)) {
    file_failed_ = gap_ = true;
    return;
  }
  stored_.push_back({block.offset, file_position_, keep, static_cast<std::uint32_t>(run_count)});
  file_position_ += total;
}

std::optional<OutputLog::Piece> OutputLog::read(std::uint64_t offset, std::string& scratch) const {
  if (const auto found = block_at(stored_, offset); found != stored_.end()) {
    if (!file_) file_ = access_(FileUse::open);
    if (auto piece = read_file(*found, std::max(offset, found->offset), scratch)) return piece;
  }
  return read_memory(offset);
}

std::optional<OutputLog::Piece> OutputLog::read_memory(std::uint64_t offset) const {
  const auto found = block_at(blocks_, offset);
  if (found == blocks_.end()) return std::nullopt;
  const auto at = static_cast<std::uint32_t>(std::max(offset, found->offset) - found->offset);
  const auto [stream, until] = run_at(found->runs.data(), found->runs.size(), at, found->size);
  return Piece{found->offset + at, stream, {found->data.get() + at, until - at}};
}

std::optional<OutputLog::Piece> OutputLog::read_file(const StoredBlock& block, std::uint64_t offset,
                                                     std::string& scratch) const {
  std::vector<std::uint32_t> runs(block.runs);
  const auto at = static_cast<std::uint32_t>(offset - block.offset);
  if (!read_exactly(file_.get(), runs.data(), runs.size() * sizeof(std::uint32_t), block.position + block.size)) {
    return std::nullopt;
  }
  const auto [stream, until] = run_at(runs.data(), runs.size(), at, block.size);
  scratch.resize(until - at);
  if (!read_exactly(file_.get(), scratch.data(), scratch.size(), block.position + at)) return std::nullopt;
  return Piece{offset, stream, scratch};
}

OutputLog::~OutputLog() {
  if (!stored_.empty()) [[maybe_unused]]
    const UniqueFd none = access_(FileUse::remove);
}

void OutputLog::settle() {
  // The window of a log that has outgrown its cap follows its beginning into the file: it is the end that people read.
  if (gap_ && !stored_.empty()) {
    while (!blocks_.empty() && !file_failed_) {
      store(blocks_.front(), ~std::uint64_t{0});
      if (file_failed_) break;
      memory_bytes_ -= blocks_.front().size;
      blocks_.erase(blocks_.begin());
    }
    if (blocks_.empty()) blocks_.shrink_to_fit();
  }
  file_.reset();
  if (blocks_.empty()) return;
  Block& last = blocks_.back();
  if (last.capacity - last.size < kFirstBytes) return;
  std::unique_ptr<char[]> exact(new char[last.size]);
  std::memcpy(exact.get(), last.data.get(), last.size);
  last.data = std::move(exact);
  last.capacity = last.size;
}

void OutputLog::drop() {
  if (end_ > 0) gap_ = true;
  blocks_.clear();
  blocks_.shrink_to_fit();
  if (!stored_.empty()) [[maybe_unused]]
    const UniqueFd none = access_(FileUse::remove);
  stored_.clear();
  stored_.shrink_to_fit();
  file_.reset();
  file_failed_ = true;
  memory_bytes_ = 0;
  file_position_ = 0;
}

}  // namespace cove::keeper
