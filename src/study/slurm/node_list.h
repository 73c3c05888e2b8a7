#pragma once

#include "base/standard.h"

namespace trainyard::study::slurm {

// Slurm writes many hosts as "gpu[001-003,7]", which is gpu001, gpu002, gpu003, gpu7. Several brackets make a
// product (in Slurm's order: the last runs fastest, then the first, the second, ...); commas outside of
// brackets separate lists. The low end of a range gives the width of zero padding.

// Throws Error (config) naming a malformed part, or for more than kMaxNodes hosts. "" has none.
std::vector<std::string> expand_node_list(std::string_view text);

inline constexpr std::size_t kMaxNodes = 65'536;

// Expands an array's task numbers as Slurm prints them: "3", "0-3,8", "0-8:4", "[5-7%2]"; the number after a
// % is the throttle.
std::vector<int> expand_task_list(std::string_view text);

}  // namespace trainyard::study::slurm
