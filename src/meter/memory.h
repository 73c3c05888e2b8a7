#pragma once

#include <cstdint>

#include "meter/system_files.h"

namespace trainyard::meter {

// Of this process, from /proc/self/status; 0 where that cannot be read.
std::int64_t peak_resident_bytes();
std::int64_t resident_bytes();
std::int64_t anonymous_bytes();  // of that, what no file holds

// What this process can still take: as much as the kernel could make free, or less where a control group
// limits it; 0 where neither is known.
std::int64_t available_bytes(const SystemFiles& files);

}  // namespace trainyard::meter
