#pragma once

#include <string>

namespace trainyard::process {

// What this process starts carries a mark in its environment, and so does what that starts in turn, whatever
// process group or session it makes for itself. A guard, which is a small process beside this one, waits for
// this one to end, however it does, and then ends all that carry the mark: by SIGTERM, and after
// kSecondsToEnd by SIGKILL.
inline constexpr const char* kMarkVariable = "TRAINYARD_INTERNAL_FAMILY";
inline constexpr int kSecondsToEnd = 4;  // mpirun gives its ranks one, and then removes what they left

// Starts the guard if there is none yet. start() does so; whoever counts children calls it earlier, because
// the guard is a child for a moment.
void start_guard();

// A mark for one more child, for which there is a guard then.
std::string next_mark();

// Ends all processes that carry this mark, as the guard does, and returns when there are none.
void end_marked(const std::string& mark);

}  // namespace trainyard::process
