#pragma once

namespace cove::keeper {

// `cove keeper`: the process that looks after one sandbox. Reads what to do from descriptor kLaunchFd
// (proto/launch.h), answers there when the sandbox is ready or cannot be made, and returns when the sandbox is over.
// Its exit code is for logs only. On a start error nothing is left behind.
int keeper_main();

// `cove keeper nursery`: makes a keeper for every socket that comes from kLaunchFd, and ends with whoever sends them.
// In a keeper it returns as keeper_main() does. `argument` is what `ps` shows of it, until a keeper has its request.
int nursery_main(char* argument);

}  // namespace cove::keeper
