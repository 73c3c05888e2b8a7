#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// The candidate with the smallest edit distance to `given`, or "" when none is close enough to suggest.
std::string nearest_name(std::string_view given, const std::vector<std::string>& candidates);

// " (did you mean 'resnet50'?)" or "".
std::string did_you_mean(std::string_view given, const std::vector<std::string>& candidates);

}  // namespace trainyard
