#include "cli/tried.h"

#include "base/text.h"

namespace cove::cli {

using selftest::Tried;

std::string to_json(const std::string& backend, const std::vector<Tried>& all) {
  std::string text = "{\"backend\": " + json_quote(backend) + ", \"attempts\": [";
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += std::string(i == 0 ? "" : ",") + "\n  {\"name\": " + json_quote(all[i].attempt.name) +
            ", \"group\": " + json_quote(all[i].attempt.group) +
            ", \"result\": " + json_quote(selftest::name(all[i].verdict.finding)) +
            ", \"detail\": " + json_quote(all[i].verdict.detail) + "}";
  }
  return text + "]}\n";
}

}  // namespace cove::cli
