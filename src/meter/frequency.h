#pragma once

#include <optional>
#include <string>

#include "meter/system_files.h"

namespace trainyard::meter {

// Of the core that calls, which is busy for that reason; idle ones rest at a low clock that means nothing.
// Virtual machines have none of this.
struct Frequency {
  std::optional<std::string> governor;
  std::optional<double> min_mhz, max_mhz, current_mhz;
};

Frequency read_frequency(const SystemFiles& files);

}  // namespace trainyard::meter
