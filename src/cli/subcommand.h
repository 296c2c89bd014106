#pragma once

// The frame of a sub-command. Its options are a struct X, and beside it stand
//
//   void define(Arguments& arguments, X& options);  // which options there are
//   int run(Arguments& arguments, X& options);      // what it does once they are parsed; returns the exit code
//
// Its row in the table has `.run = run_with<X>` and `.describe = describe_with<X>`.

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"

namespace cove::cli {

template <class Options>
int run_with(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (const auto code = arguments.parse(std::move(words))) return *code;
  return run(arguments, options);
}

template <class Options>
void describe_with(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

}  // namespace cove::cli
