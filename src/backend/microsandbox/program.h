#pragma once

#include "backend/engine/program.h"
#include "backend/microsandbox/words.h"

namespace cove::microsandbox {

// msb as a program, and what it takes.
class Msb {
 public:
  // $MSB_PATH, else `msb` on PATH and in the usual places.
  static Result<Msb> find();

  // "0.7.2"; within 10 s.
  Result<std::string> version() const;
  Result<Takes> takes() const;
  // An exit code other than 0 is an error in msb's own words.
  Result<std::string> ask(const std::vector<std::string>& words, Deadline deadline) const;
  Result<os::Child> attach(const std::vector<std::string>& words, int socket) const {
    return program_.attach(words, socket);
  }
  // Idempotent.
  Result<void> remove(const std::string& name) const;
  Result<bool> has(const std::string& name) const;

 private:
  explicit Msb(engine::Program program) : program_(std::move(program)) {}
  engine::Program program_;
};

}  // namespace cove::microsandbox
