#pragma once

#include <sys/types.h>

#include "base/standard.h"

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

// Every process that this one starts, directly or indirectly, carries a mark in its environment, whatever
// process group or session it creates. A guard, a small process beside this one, waits for this one to end in
// any way, and then ends all processes that carry the mark: by SIGTERM, and after kSecondsToEnd by SIGKILL.
inline constexpr const char* kMarkVariable = "TRAINYARD_INTERNAL_FAMILY";
inline constexpr int kSecondsToEnd = 4;  // mpirun gives its ranks one, and then removes what they left

// Starts the guard if there is none yet. start() does so; callers that count children call it earlier,
// because the guard is a child for a moment.
void start_guard();

// Returns a mark for one more child and starts the guard if there is none yet.
std::string next_mark();

// Ends all processes that carry this mark, as the guard does, and returns when there are none.
void end_marked(const std::string& mark);

}  // namespace trainyard::process
