#pragma once

#include "base/standard.h"

namespace trainyard {

// Returns the candidate with the smallest edit distance to `given`, or "" when none is close enough to
// suggest.
std::string nearest_name(std::string_view given, const std::vector<std::string>& candidates);

// " (did you mean 'resnet50'?)" or "".
std::string did_you_mean(std::string_view given, const std::vector<std::string>& candidates);

// Throws Error (usage) that names the setting, what is allowed and what was probably meant.
void want_one_of(std::string_view setting, const std::string& given, const std::vector<std::string>& allowed);

}  // namespace trainyard
