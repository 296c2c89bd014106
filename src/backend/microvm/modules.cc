#include "backend/microvm/modules.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "backend/microvm/files.h"

namespace cove::microvm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 6> kWanted{"virtio_mmio", "virtio_console", "virtio_blk",
                                             "erofs",       "overlay",        "virtio_net"};

// A file may have dashes where the module's name has not.
std::string plain_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::map<std::string, std::string> find_modules(const std::string& directory) {
  std::map<std::string, std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator walk(directory + "/kernel", error);
  for (; !error && walk != fs::end(walk); walk.increment(error)) {
    const std::string file = walk->path().filename();
    if (const std::size_t end = file.find(".ko"); end != std::string::npos)
      found[plain_name(file.substr(0, end))] = walk->path();
  }
  return found;
}

class Order {
 public:
  explicit Order(std::map<std::string, std::string> there) : left_(std::move(there)) {}

  // Who needs whom differs from one kernel to the next, also between two of one version: only the modules know it.
  Result<void> add(const std::string& name) {
    const auto found = left_.find(name);
    if (found == left_.end()) return {};
    const Module module{name, found->second};
    left_.erase(found);
    if (!module.path.ends_with(".ko"))
      return fail(Errc::unsupported, module.path +
                                         " is compressed, which is not understood here: unpack the kernel's modules, "
                                         "or use Debian's linux-image-cloud-amd64");
    COVE_TRY(const std::string bytes, read_whole(module.path));
    for (const std::string& needed : needed_by(bytes)) COVE_CHECK(add(needed));
    order_.push_back(module);
    return {};
  }
  std::vector<Module> take() { return std::move(order_); }

 private:
  std::map<std::string, std::string> left_;
  std::vector<Module> order_;
};

}  // namespace

// In its section of facts, each of which ends with a zero.
std::vector<std::string> needed_by(std::string_view module) {
  constexpr std::string_view kFact("\0depends=", 9);
  std::vector<std::string> names;
  const std::size_t at = module.find(kFact);
  if (at == std::string_view::npos) return names;
  std::string_view list = module.substr(at + kFact.size());
  list = list.substr(0, list.find('\0'));
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) names.push_back(plain_name(std::string(list.substr(0, end))));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

Result<std::vector<Module>> modules_for_machine(const std::string& directory) {
  if (directory.empty()) return std::vector<Module>();
  Order order(find_modules(directory));
  for (const char* name : kWanted) COVE_CHECK(order.add(name));
  return order.take();
}

}  // namespace cove::microvm
