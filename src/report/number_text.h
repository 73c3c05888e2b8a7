#pragma once

#include <string>

namespace trainyard::report {

// For people, three figures or more: "12,346", "345.7", "1.23", "0.0456".
std::string number_text(double number);
// A share as "12.3 %".
std::string percent_text(double share);
// "1 run", "3 runs".
std::string count_text(long long count, const std::string& noun);
// "tasks_per_node" as people write it: "tasks per node".
std::string spaced(std::string name);
// UTC, "2026-03-04 15:06".
std::string time_text(double seconds_since_1970);

}  // namespace trainyard::report
