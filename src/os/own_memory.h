#pragma once

namespace cove::os {

// Gives back what an idle process does not need: free heap, and the pages of our own program's code and constants that
// its start has mapped. Those are never written, so they can be let go; what is needed next is mapped again from the
// page cache in microseconds. Libraries are left alone: they are shared with everybody.
void give_memory_back();

// The opposite, for a forked process that is soon to be quick: the program's pages are mapped, and its variables its
// own, before they are needed. Where the kernel cannot (before 5.14) they come one by one, as always.
void take_memory();

}  // namespace cove::os
