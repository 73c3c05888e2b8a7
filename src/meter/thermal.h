#pragma once

#include <cstdint>

#include "meter/system_files.h"

namespace trainyard::meter {

// How often the cores and packages of this machine have been slowed for heat since it started; 0 where the
// kernel does not count it.
std::int64_t thermal_throttle_count(const SystemFiles& files);

}  // namespace trainyard::meter
