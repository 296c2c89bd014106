#include "keeper/hint.h"

#include <algorithm>
#include <array>

namespace cove::keeper {
namespace {

// What libc and the usual clients say when a name does not resolve or nothing can be reached.
constexpr std::array<std::string_view, 8> kSigns{
    "resolve host", "name resolution", "Name or service not known", "Network is unreachable",
    "getaddrinfo",  "ENETUNREACH",     "Could not resolve",         "Failed to resolve"};

}  // namespace

std::string network_hint(std::string_view output) {
  const bool sign = std::any_of(kSigns.begin(), kSigns.end(),
                                [&](std::string_view each) { return output.find(each) != std::string_view::npos; });
  if (!sign) return "";
  return "the sandbox has no network (--net none); make it with --net full, or --net host to share this machine's";
}

}  // namespace cove::keeper
