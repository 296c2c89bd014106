#include "changes/written.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace cove::changes {
namespace {

using nlohmann::json;
constexpr std::size_t kMost = 4'000'000;
constexpr std::string_view kDigits = "0123456789abcdef";

std::string encoded(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 127 && c != '%') {
      text += c;
    } else {
      text += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return text;
}

Result<std::string> decoded(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    const std::size_t high = i + 2 < text.size() ? kDigits.find(text[i + 1]) : std::string::npos;
    const std::size_t low = i + 2 < text.size() ? kDigits.find(text[i + 2]) : std::string::npos;
    if (high == std::string::npos || low == std::string::npos)
      return fail(Errc::invalid, "what was applied earlier: 'path' is not percent-encoded");
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

json pair_of(const timespec& time) { return json::array({time.tv_sec, time.tv_nsec}); }

timespec time_of(const json& pair) { return {.tv_sec = pair.at(0).get<time_t>(), .tv_nsec = pair.at(1).get<long>()}; }

bool equal(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

Written Written::of(std::string path, const struct stat& info) {
  return {.path = std::move(path),
          .ino = info.st_ino,
          .size = static_cast<std::uint64_t>(info.st_size),
          .mtime = info.st_mtim,
          .ctime = info.st_ctim};
}

bool Written::is(const struct stat& info) const {
  return ino == info.st_ino && size == static_cast<std::uint64_t>(info.st_size) && equal(mtime, info.st_mtim) &&
         equal(ctime, info.st_ctim);
}

std::string to_json(const std::vector<Written>& written) {
  json rows = json::array();
  for (const Written& one : written) {
    rows.push_back({{"path", encoded(one.path)},
                    {"ino", one.ino},
                    {"size", one.size},
                    {"mtime", pair_of(one.mtime)},
                    {"ctime", pair_of(one.ctime)}});
  }
  return rows.dump();
}

Result<std::vector<Written>> written_from_json(const std::string& text) {
  const json rows = json::parse(text, nullptr, false);
  if (!rows.is_array() || rows.size() > kMost) return fail(Errc::invalid, "what was applied earlier is no list");
  std::vector<Written> all;
  try {
    for (const json& row : rows) {
      COVE_TRY(auto path, decoded(row.at("path").get<std::string>()));
      all.push_back({.path = std::move(path),
                     .ino = row.at("ino").get<std::uint64_t>(),
                     .size = row.at("size").get<std::uint64_t>(),
                     .mtime = time_of(row.at("mtime")),
                     .ctime = time_of(row.at("ctime"))});
    }
  } catch (const json::exception& error) {
    return fail(Errc::invalid, std::string("what was applied earlier: ") + error.what());
  }
  return all;
}

}  // namespace cove::changes
