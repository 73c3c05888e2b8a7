#pragma once

#include <cstdint>

namespace trainyard::meter {

// Of this process, from /proc/self/status; 0 where that cannot be read.
std::int64_t peak_resident_bytes();
std::int64_t resident_bytes();

}  // namespace trainyard::meter
