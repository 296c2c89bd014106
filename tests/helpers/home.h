#pragma once

// A COVE_HOME of a test program's own, in a temporary directory, and the check that nothing is left of it.

#include <string>

#include "spec/spec.h"

namespace cove::testing_helpers {

// Made once per test program, before anything else; sets COVE_HOME, COVE_GUEST and what the library needs to find
// `cove`. Everything started from here carries COVE_HOME (keepers) or MARK (what runs inside) in its environment.
class Home {
 public:
  Home();
  ~Home();  // removes the directory
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  const std::string& path() const { return path_; }           // COVE_HOME
  const std::string& root() const { return root_; }           // the temporary directory that holds it
  const std::string& mark() const { return mark_; }           // "COVETEST_MARK=..."
  std::string make_directory(const std::string& name) const;  // below root, not below COVE_HOME

  // Empty if no process carries our marks and no sandbox directory is there; otherwise a description of what is.
  std::string leftovers() const;

 private:
  std::string root_, path_, mark_;
};

Home& home();                // the program's own
std::string cove_program();  // path of the built `cove`
std::string backend_name();  // COVE_TEST_BACKEND, default local, without "-user" and "-old"
std::string subject_name();  // ... with them
// For COVE_TEST_BACKEND=NAME-user: gives root's rights up for good, before anything is made, and takes the programs to
// where that user can run them. Without root's rights it does nothing.
void become_test_user();
// A spec of a sandbox that ends with this process: fresh name, small environment with the mark, a home and a cwd of its
// own where the backend shares our file system.
SandboxSpec make_spec();
// Why the engine that the tests need is not there; "" if it is, or if they need none.
std::string engine_why_not();
// Where this directory of ours is inside: a volume, where the backend does not share our file system.
std::string shown_inside(SandboxSpec& spec, const std::string& directory);
void set_env(SandboxSpec& spec, const std::string& name, const std::string& value);

// How much slower than a plain build things may be: COVE_TEST_SLACK, default 1, 8 under sanitizers.
double slack();

}  // namespace cove::testing_helpers
