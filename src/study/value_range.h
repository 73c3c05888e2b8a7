#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/value.h"

namespace trainyard::study {

// "16..16384 x2" (each twice the last) or "1..9 +2" (each two more), both ends as given, the last value not
// beyond the end. Nothing when the text is no range at all; Error (config) when it is one that cannot be.
std::optional<std::vector<record::Value>> expand_range(const std::string& text);

}  // namespace trainyard::study
