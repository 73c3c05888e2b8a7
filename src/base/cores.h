#pragma once

#include "base/standard.h"

namespace trainyard {

// Returns the cores that this process was allowed at the first call, so that a later restriction by the
// process itself does not count. Physical cores come first, their further hardware threads afterwards.
const std::vector<int>& process_cores();

// Restricts this process, and the processes it starts, to the first `cores` of process_cores(), as if it had
// been started so. Error (usage) when there are fewer. REQUIRES: the calling thread is the only one.
void limit_process_cores(int cores);

// Restricts the calling thread, and every thread it starts from now on, to these cores. Error (device) when
// the system refuses.
void pin_thread(std::span<const int> cores);

// Restricts every thread that this process has now, including threads that a library started.
void pin_all_threads(std::span<const int> cores);

// Returns the cores on which some thread of this process may run now, ascending.
std::vector<int> cores_in_reach();

// Returns the name of the machine that this process runs on: Slurm's name of the node, of which a host may
// have several, else the host name.
std::string node_name();

}  // namespace trainyard
