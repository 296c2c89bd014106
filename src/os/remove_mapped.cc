#include "os/mapped.h"
#include "os/remove_tree.h"

namespace cove::os {

Result<void> remove_mapped_tree_at(int parent, const std::string& name) {
  auto plainly = remove_tree_at(parent, name);
  if (plainly || plainly.error().code != Errc::denied) return plainly;
  auto mapped = as_mapped_root([&] { return remove_tree_at(parent, name).has_value(); });
  if (mapped || mapped.error().code != Errc::denied) return mapped;
  return plainly;
}

}  // namespace cove::os
