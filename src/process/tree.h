#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace trainyard::process {

// Returns a process and its present descendants, parents first; a process whose parent ended is not among
// them.
std::vector<pid_t> tree_of(pid_t root);

// Returns whether such a process exists, whichever user owns it.
bool is_alive(pid_t process);

// Returns the memory that these processes hold. Where their resident memory adds up to more than `enough`,
// pages that several of them share are counted once, as far as the system reports them, which takes longer. A
// process that has ended counts as zero.
std::int64_t memory_of(const std::vector<pid_t>& processes, std::int64_t enough);

}  // namespace trainyard::process
