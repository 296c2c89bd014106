#include "image/snapshot_state.h"

#include <algorithm>

#include "image/base64.h"

namespace cove::image {
namespace {

// A label is a text of limited length, so the state stands in as many of them as it needs.
constexpr std::string_view kOurs = "cove.snapshot.", kState = "cove.snapshot.state.",
                           kSandbox = "cove.snapshot.sandbox";
constexpr std::size_t kPiece = std::size_t{512} << 10, kMostState = std::size_t{2} << 20;
constexpr std::size_t kMostName = 255;

std::string state_label(std::size_t number) { return std::string(kState) + std::to_string(number); }

Failure damaged(const std::string& why) { return fail(Errc::invalid, "the snapshot's sessions are damaged: " + why); }

bool has_zero(const std::string& text) { return text.find('\0') != std::string::npos; }

// Sessions go to the program inside as they are; names and variables also reach files and environments out here.
Result<void> check(const record::Snapshot& snapshot) {
  for (const auto& [name, state] : snapshot.sessions) {
    if (name.size() > kMostName || has_zero(name)) return damaged("a session's name");
  }
  for (const auto& [key, value] : snapshot.env) {
    if (key.empty() || key.find('=') != std::string::npos || has_zero(key) || has_zero(value))
      return damaged("a variable's name or value");
  }
  return {};
}

}  // namespace

Result<Labels> labels_of(const record::Snapshot& snapshot) {
  const std::string text = base64(record::encode_state(snapshot));
  if (text.size() > kMostState)
    return fail(Errc::invalid,
                "the sessions of snapshot " + snapshot.tag + " hold " + std::to_string(text.size() >> 20) +
                    " MiB of variables and functions, more than an image can carry: unset the large ones "
                    "and take another snapshot");
  Labels labels{{std::string(kSandbox), snapshot.sandbox}};
  for (std::size_t at = 0, number = 0; at < text.size(); at += kPiece)
    labels[state_label(number++)] = text.substr(at, kPiece);
  return labels;
}

Result<void> read_labels(const Labels& labels, record::Snapshot& snapshot) {
  std::string text;
  for (std::size_t number = 0; labels.contains(state_label(number)); ++number) {
    text += labels.at(state_label(number));
    if (text.size() > kMostState) return damaged("they are too large");
  }
  if (text.empty())
    return fail(Errc::invalid,
                "this is an image, but of no snapshot: 'cove image load' takes it; snapshots are written by 'cove "
                "snapshot export'");
  const auto bytes = from_base64(text, kMostState);
  if (!bytes) return damaged("they are no base64");
  COVE_CHECK(record::decode_state(*bytes, snapshot));
  const auto sandbox = labels.find(std::string(kSandbox));
  if (sandbox != labels.end() && sandbox->second.size() <= kMostName && !has_zero(sandbox->second))
    snapshot.sandbox = sandbox->second;
  return check(snapshot);
}

Labels without_ours(const Labels& labels) {
  Labels others = labels;
  std::erase_if(others, [](const auto& label) { return label.first.starts_with(kOurs); });
  return others;
}

}  // namespace cove::image
