#pragma once

#include <vector>

#include "table.h"
#include "timing.h"

namespace cove::bench {

// Each measures what its name says, beside the bare thing in the same loop, so that the machine's noise hits both.
std::vector<Row> paced_latency(Effort effort);         // with a pause between commands, as an agent has
std::vector<Row> back_to_back_latency(Effort effort);  // without
std::vector<Row> first_command(Effort effort);
std::vector<Row> commands_per_second(Effort effort);
std::vector<Row> output_throughput(Effort effort);
std::vector<Row> stdin_throughput(Effort effort);
std::vector<Row> idle_memory();
std::vector<Row> guest_size();

// The same of `native`, and what a sandbox behind walls has for peers.
std::vector<Row> native_create(Effort effort);  // beside bwrap, unshare, docker run, podman run
std::vector<Row> native_warm(Effort effort);    // beside local, bash -c, docker exec, podman exec
std::vector<Row> native_commands_per_second(Effort effort);
std::vector<Row> native_idle_memory();
std::vector<Row> pool(Effort effort);      // take one that is ready, and its first command
std::vector<Row> thousand(Effort effort);  // a thousand idle sandboxes at once

std::vector<Row> engines(Effort effort);  // docker and podman sandboxes beside exec and run
std::vector<Row> gvisor_commands(Effort effort);
std::vector<Row> microvm(Effort effort);

std::vector<Row> python_terminal(Effort effort);  // the terminal tool from Python beside subprocess

std::vector<Row> layers(Effort effort);     // snapshot, fork, checkpoint, an image of many layers
std::vector<Row> unpacking(Effort effort);  // a layer beside tar -x

}  // namespace cove::bench
