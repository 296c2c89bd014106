#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace cove {

std::string_view name(Errc code) {
  switch (code) {
    case Errc::invalid: return "invalid";
    case Errc::not_found: return "not found";
    case Errc::conflict: return "conflict";
    case Errc::denied: return "denied";
    case Errc::unsupported: return "unsupported";
    case Errc::busy: return "busy";
    case Errc::timeout: return "timeout";
    case Errc::cancelled: return "cancelled";
    case Errc::disconnected: return "disconnected";
    case Errc::protocol: return "protocol";
    case Errc::internal: return "internal";
  }
  return "internal";
}

Error Error::because(std::string_view what) && {
  message.insert(0, ": ").insert(0, what);
  return std::move(*this);
}

std::string Error::text() const { return std::string(name(code)) + ": " + message; }

Errc code_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ESRCH: return Errc::not_found;
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY: return Errc::conflict;
    case EPERM:
    case EACCES:
    case EROFS: return Errc::denied;
    case ENOSYS:
    case EOPNOTSUPP: return Errc::unsupported;
    case EAGAIN:
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EDQUOT: return Errc::busy;
    case ETIMEDOUT: return Errc::timeout;
    case EPIPE:
    case ECONNRESET:
    case ECONNREFUSED: return Errc::disconnected;
    default: return Errc::invalid;
  }
}

Error errno_error(int error_number, std::string_view what) {
  return Error{code_of_errno(error_number), std::string(what) + ": " + std::strerror(error_number)};
}

Failure fail_errno(std::string_view what) { return Failure(errno_error(errno, what)); }

}  // namespace cove
