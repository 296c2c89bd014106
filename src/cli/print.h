#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::cli {

// All of it to a descriptor, with write(2). False: nobody reads it any more, or it cannot be written.
bool write_all(int fd, std::string_view bytes);
void print(std::string_view text);  // to stdout
// "cove: MESSAGE" to stderr.
void complain(std::string_view message);
// From here on complaints begin with this instead of "cove: ": for one who speaks as another program. Lent.
void speak_as(std::string_view prefix);
// The same for an error of ours; the exit code 125.
int report(const Error& error);

// Rows of equally many cells, the first one being the head; columns are aligned.
using Row = std::vector<std::string>;
void print_table(const std::vector<Row>& rows);

// A colour where stdout is a terminal and NO_COLOR is not set; otherwise the text as it is.
enum class Tint : unsigned char { bold, green, red, yellow };
std::string tinted(Tint tint, std::string_view text);

}  // namespace cove::cli
