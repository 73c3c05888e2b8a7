#pragma once

#include <string>

#include "record/run_record.h"
#include "study/child.h"

namespace trainyard::study {

struct EndStatus {
  record::Status status = record::Status::ok;
  std::string reason;
};

// What an ended child means. `kind` as in a job, `last_line` of what it printed; `out_of_memory_kills`: how
// often the kernel killed for want of memory meanwhile.
EndStatus status_of_end(const ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills);

// Whether what a run says last is that its numbers are none any more.
bool says_not_a_number(const std::string& line);

// The last line with anything in it, at most 300 bytes of it; "" when there is none.
std::string last_line_of(const std::filesystem::path& log);

// Counted by the kernel since it started, over all processes; 0 where it does not say.
long out_of_memory_kills();

}  // namespace trainyard::study
