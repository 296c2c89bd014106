#include "terminal/config_table.h"

#include <toml++/toml.h>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

namespace cove::terminal {
namespace {

nlohmann::json to_json(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  if (const auto* array = node.as_array()) {
    nlohmann::json all = nlohmann::json::array();
    for (const toml::node& one : *array) all.push_back(to_json(one));
    return all;
  }
  if (const auto* table = node.as_table()) {
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [key, value] : *table) all[std::string(key.str())] = to_json(value);
    return all;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<TableEntry>> read_terminal_table(const std::string& path) {
  std::vector<TableEntry> entries;
  struct stat about{};
  if (stat(path.c_str(), &about) < 0) return entries;
  try {
    const toml::table all = toml::parse_file(path);
    const toml::node* node = all.get("terminal");
    if (node == nullptr) return entries;
    const toml::table* table = node->as_table();
    if (table == nullptr) return fail(Errc::invalid, path + ": 'terminal' must be a table: [terminal]");
    for (const auto& [key, value] : *table) {
      entries.push_back(
          {std::string(key.str()), to_json(value), path + ":" + std::to_string(value.source().begin.line)});
    }
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid,
                path + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
  return entries;
}

}  // namespace cove::terminal
