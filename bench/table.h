#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cove::bench {

// What was promised about a value or, where there is something beside it, about the ratio to that.
struct Promise {
  enum class Kind : unsigned char { none, at_most, at_least };
  Kind kind = Kind::none;
  double limit = 0;
};
inline Promise at_most(double limit) { return {Promise::Kind::at_most, limit}; }
inline Promise at_least(double limit) { return {Promise::Kind::at_least, limit}; }

struct Row {
  std::string what;
  double value = 0;
  std::string unit;
  std::string beside;  // "" if it stands alone
  double beside_value = 0;
  Promise promise = {};
  std::vector<double> percentiles = {};  // p50, p90, p99 where there are some
  std::string not_measured = {};         // why there is no value

  std::optional<double> ratio() const;
  bool kept() const;
};

void print_table(const std::vector<Row>& rows);
void print_json(const std::vector<Row>& rows);

}  // namespace cove::bench
