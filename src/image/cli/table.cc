#include "image/cli/commands.h"
#include "record/record.h"

namespace cove::image {

std::span<const Command> image_commands() { return {}; }

Result<Store> open_store() {
  COVE_TRY(const std::string home, record::home());
  return Store::open(home);
}

}  // namespace cove::image
