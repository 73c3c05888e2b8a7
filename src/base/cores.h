#pragma once

#include <span>
#include <string>
#include <vector>

namespace trainyard {

// The cores this process was allowed when this was first called, so that what we take from ourselves later
// does not count. Physical cores come first, their further hardware threads afterwards.
const std::vector<int>& process_cores();

// Leaves this process, and those it starts, only the first so many of them: as if it had been started so.
// Error (usage) when there are fewer. REQUIRES: the calling thread is the only one.
void limit_process_cores(int cores);

// The calling thread, and every thread it starts from now on, runs on these cores only.
// Error (device) when the system refuses.
void pin_thread(std::span<const int> cores);

// The same for every thread that this process has by now: those that a library started, too.
void pin_all_threads(std::span<const int> cores);

// Cores on which some thread of this process may run now, ascending.
std::vector<int> cores_in_reach();

// The name by which people call the machine that this process runs on: as Slurm names its node, of which a
// host may have several, else as the host names itself.
std::string node_name();

}  // namespace trainyard
