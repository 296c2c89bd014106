#include "image/pull.h"

namespace cove::image {

Result<Image> pull_from_engine(Store&, const Reference&, Progress&, const std::stop_token&) {
  return fail(Errc::unsupported, "not yet");
}

}  // namespace cove::image
