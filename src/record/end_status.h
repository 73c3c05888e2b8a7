#pragma once

#include <string>

#include "process/run_to_end.h"
#include "record/run_record.h"

namespace trainyard::record {

// How a run ended, for its record.
struct EndStatus {
  Status status = Status::ok;
  std::string reason;
};

// Interprets the end of a child. `kind` is as in a job, `last_line` is the last line that it printed, and
// `out_of_memory_kills` counts the kernel's kills for lack of memory meanwhile.
EndStatus status_of_end(const process::ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills);

// Tells whether the last line of a run reports that its numbers became NaN.
bool says_not_a_number(const std::string& line);

}  // namespace trainyard::record
