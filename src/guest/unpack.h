#pragma once

#include <functional>
#include <map>
#include <string>

#include "guest/beneath.h"
#include "guest/tar.h"

namespace cove::guest {

// Makes entries into files below a directory, and never outside of it, whatever the entries say (see beneath.h).
// What is in the way of an entry is replaced: a file or link always, a directory if it is empty. Nothing is written
// through an existing file, so no other name of it changes. Modes and times are kept; set-id bits are dropped and
// everything belongs to the current user unless the options say otherwise.
// A file whose data did not all come is removed again; what was unpacked before stays.
class Unpacker final : public TarSink {
 public:
  struct Options {
    bool keep_owner = false;   // by number; needs to be root
    bool keep_set_id = false;  // set-user-id and set-group-id bits
  };

  // `root`, a directory, is lent for the life of this object.
  Unpacker(int root, Options options) : root_(root), parents_(root), options_(options) {}
  ~Unpacker() override;

  Result<void> begin(const TarEntry& entry) override;
  Result<void> data(std::string_view bytes) override;
  Result<void> end() override;
  // Modes and times of directories, which unpacking into them would have changed.
  Result<void> finish();

 private:
  struct Directory {
    TarEntry entry;
    bool existed = false;
  };

  Result<void> make_directory(const TarEntry& entry);
  Result<void> make_file();
  Result<void> make_hardlink(const TarEntry& entry);
  Result<void> make_symlink(const TarEntry& entry);
  Result<void> make_fifo(const TarEntry& entry);
  template <class Make>
  Result<void> replacing(Make make);
  Result<void> remove_obstacle();
  Result<void> set_owner_of_name(const TarEntry& entry);
  Result<void> finish_directory(std::string_view path, const Directory& directory);
  std::uint32_t kept_mode(const TarEntry& entry) const;

  int root_;
  Beneath parents_;
  Options options_;
  std::map<std::string, Directory, std::less<>> directories_;  // by clean path

  // The entry at hand: its clean path, its directory and name, and the descriptor of a file that is being written.
  TarEntry entry_;
  std::string path_, name_;
  int parent_ = -1;
  UniqueFd file_;
};

}  // namespace cove::guest
