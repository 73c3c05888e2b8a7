#pragma once

#include "record/settings.h"

namespace trainyard::study {

// Expands "16..16384 x2" (each twice the last) or "1..9 +2" (each two more), with both ends as given and the
// last value not beyond the end. Returns nothing for text that is no range at all; throws Error (config) for
// an impossible one.
std::optional<std::vector<record::Value>> expand_range(const std::string& text);

// Returns the settings that a run of this kind may have in a study: rows of the table (record/settings.h) and
// the parameters of generated networks. A program takes any name besides the resources.
std::vector<const record::SettingInfo*> known_settings(const std::string& run);
const record::SettingInfo* find_known_setting(const std::string& name, const std::string& run);

}  // namespace trainyard::study
