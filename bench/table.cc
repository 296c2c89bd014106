#include "table.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace cove::bench {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : "%.3f", value);
  return text;
}

std::string promise_text(const Row& row) {
  if (row.promise.kind == Promise::Kind::none) return "";
  const char* sign = row.promise.kind == Promise::Kind::at_most ? "<= " : ">= ";
  char text[32];
  std::snprintf(text, sizeof(text), "%s%g%s", sign, row.promise.limit, row.ratio() ? " x" : "");
  return text;
}

std::string verdict(const Row& row) {
  if (row.promise.kind == Promise::Kind::none) return "";
  return row.kept() ? "ok" : "MISSED";
}

}  // namespace

std::optional<double> Row::ratio() const {
  if (beside.empty() || beside_value <= 0) return std::nullopt;
  return value / beside_value;
}

bool Row::kept() const {
  const double judged = ratio().value_or(value);
  if (promise.kind == Promise::Kind::at_most) return judged <= promise.limit;
  if (promise.kind == Promise::Kind::at_least) return judged >= promise.limit;
  return true;
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-44s %9s %8s %8s %-5s  %-26s %9s %7s  %-9s %s\n", "", "value", "p90", "p99", "unit", "beside", "value",
              "ratio", "promise", "");
  for (const Row& row : rows) {
    if (!row.not_measured.empty()) {
      std::printf("%-44s %9s not measured: %s\n", row.what.c_str(), "-", row.not_measured.c_str());
      continue;
    }
    const bool spread = row.percentiles.size() == 3;
    std::printf("%-44s %9s %8s %8s %-5s  %-26s %9s %7s  %-9s %s\n", row.what.c_str(), number(row.value).c_str(),
                spread ? number(row.percentiles[1]).c_str() : "", spread ? number(row.percentiles[2]).c_str() : "",
                row.unit.c_str(), row.beside.c_str(), row.beside.empty() ? "" : number(row.beside_value).c_str(),
                row.ratio() ? number(*row.ratio()).c_str() : "", promise_text(row).c_str(), verdict(row).c_str());
  }
}

void print_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    if (!row.not_measured.empty()) {
      all.push_back({{"what", row.what}, {"not_measured", row.not_measured}});
      continue;
    }
    nlohmann::ordered_json one = {{"what", row.what}, {"value", row.value}, {"unit", row.unit}};
    if (row.percentiles.size() == 3) {
      one["p50"] = row.percentiles[0];
      one["p90"] = row.percentiles[1];
      one["p99"] = row.percentiles[2];
    }
    if (row.ratio()) {
      one["beside"] = row.beside;
      one["beside_value"] = row.beside_value;
      one["ratio"] = *row.ratio();
    }
    if (row.promise.kind != Promise::Kind::none) {
      one["promise"] = promise_text(row);
      one["kept"] = row.kept();
    }
    all.push_back(std::move(one));
  }
  std::printf("%s\n", all.dump(2).c_str());
}

}  // namespace cove::bench
