#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace cove {

// Named after what the caller does next. Three things are kept apart, because mixing them is how supervisors lie:
//   * a command that exits 1 has *worked*: a value (Outcome);
//   * a command that we ended (time, memory, interrupt) is a value too;
//   * an Error means that our own machinery could not do what was asked.
enum class Errc : unsigned char {
  invalid,  // the request itself is wrong; asking again will not help
  not_found,
  conflict,
  denied,
  unsupported,  // this backend cannot; another one may
  busy,         // out of memory, pids or slots: later
  timeout,      // the deadline passed; the work may still be going on
  cancelled,
  disconnected,
  protocol,
  internal,  // a bug of ours
};
constexpr Errc last(Errc) { return Errc::internal; }

std::string_view name(Errc code);

// A sentence with its object and, where there is one, the way out.
struct [[nodiscard]] Error {
  Errc code = Errc::internal;
  std::string message;

  // Puts the layer's own words in front: `start local sandbox: spawn guest: ...`. Once per layer.
  Error because(std::string_view what) &&;
  // "denied: start native sandbox: ..."
  std::string text() const;
};

template <class T = void>
using Result = tl::expected<T, Error>;
using Failure = tl::unexpected<Error>;

inline Failure fail(Errc code, std::string message) { return Failure(Error{code, std::move(message)}); }
inline Failure fail(Error error) { return Failure(std::move(error)); }

// The code that fits an errno, and "WHAT: strerror".
Errc code_of_errno(int error_number);
Error errno_error(int error_number, std::string_view what);
// Same, for the current errno.
Failure fail_errno(std::string_view what);

}  // namespace cove

// Gives up with the expression's error, or binds its value.
#define COVE_CONCAT_(a, b) a##b
#define COVE_CONCAT(a, b) COVE_CONCAT_(a, b)
#define COVE_TRY_IMPL_(tmp, decl, expr)                  \
  auto tmp = (expr);                                     \
  if (!tmp) return ::cove::fail(std::move(tmp).error()); \
  decl = std::move(*tmp)
#define COVE_TRY(decl, expr) COVE_TRY_IMPL_(COVE_CONCAT(try_, __LINE__), decl, expr)
#define COVE_CHECK(expr)                                                               \
  do {                                                                                 \
    if (auto check_ = (expr); !check_) return ::cove::fail(std::move(check_).error()); \
  } while (false)
