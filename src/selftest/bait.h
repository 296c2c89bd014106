#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace cove::selftest {

// Files on the host that a sandbox must neither see nor change. They hold a secret that exists nowhere else, and go
// away with the object, together with everything that an attempt has left beside them.
class Bait {
 public:
  static Result<Bait> lay();
  Bait(Bait&&) noexcept;
  Bait& operator=(Bait&&) = delete;
  ~Bait();

  const std::string& token() const { return token_; }    // part of every name
  const std::string& secret() const { return secret_; }  // the content
  // Directories; those with bait have a file `secret`.
  const std::string& own() const { return own_; }    // only the user may look into it
  const std::string& home() const { return home_; }  // in the user's home, open to everybody; "" if there is no home
  const std::string& work() const { return work_; }  // without bait, for sandboxes that share our file system
  // Files in places of the host that everybody writes to.
  const std::string& in_shm() const { return in_shm_; }
  const std::string& in_var_tmp() const { return in_var_tmp_; }

  // A file with the secret in it; removed at the end.
  Result<void> put(const std::string& path, unsigned mode);
  // Removed at the end, if it is there by then.
  void forget_later(const std::string& path) { later_.push_back(path); }

 private:
  Bait() = default;
  std::string token_, secret_, own_, home_, work_, in_shm_, in_var_tmp_;
  std::vector<std::string> later_;
};

// "" if it cannot be read.
std::string host_content(const std::string& path);

}  // namespace cove::selftest
