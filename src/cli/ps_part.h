#pragma once

#include "cli/ps_options.h"
#include "comm/transport/job_key.h"

namespace trainyard::cli {

// Error (usage) when the part was not told what it must know.
void check(const PsPart& part, const char* command);

// From the file that it names, or from standard input.
comm::transport::JobKey read_key(const PsPart& part);

// Cores of worker `share` of `workers` on this machine; `threads`: of all of them, 0 meaning as many as can
// be shared equally. Where workers are more than cores, several have the same one.
std::vector<int> cores_of_share(int threads, int share, int workers);
// The same as "1/2" says it. Error (usage).
std::vector<int> cores_of_share(int threads, const std::string& share);

// "worker 1 on NODE, process PID": how its log begins.
void log_beginning(const char* what, int number);
// The node that such a line names; "": it is no such line.
std::string node_in(const std::string& line, const char* what, int number);

// One line, with the time, on standard error: a part's log.
void log_line(const std::string& line);

}  // namespace trainyard::cli
