#pragma once

#include "client/conversation.h"

namespace cove {

// A file operation as the message that starts it. `~/x` is understood: ~ is the home inside.
proto::Run file_message(proto::FileRequest request, const StdinSource& source);

// What the operation's outcome means to a caller who wants the file, not the outcome.
Result<void> check_file(const Outcome& outcome);

}  // namespace cove
