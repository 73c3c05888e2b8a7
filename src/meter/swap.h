#pragma once

#include <cstdint>

#include "meter/system_files.h"

namespace trainyard::meter {

// Written to and read from swap by the whole machine since it started.
std::int64_t swapped_bytes(const SystemFiles& files);

}  // namespace trainyard::meter
