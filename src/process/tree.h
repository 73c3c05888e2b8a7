#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace trainyard::process {

// A process and all that descend from it now, parents first; a process whose parent ended is not among them.
std::vector<pid_t> tree_of(pid_t root);

// Whether there is such a process, of whomever.
bool is_alive(pid_t process);

// Memory that these processes hold. Where their resident memory adds up to more than `enough`, pages that
// several of them share are counted once, as far as the system tells: that takes longer. What has ended has
// none.
std::int64_t memory_of(const std::vector<pid_t>& processes, std::int64_t enough);

}  // namespace trainyard::process
