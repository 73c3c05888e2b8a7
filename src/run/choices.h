#pragma once

#include <string>
#include <vector>

#include "record/settings.h"

namespace trainyard::run {

// Returns the words of a choice: those of its row, or those of the folder that owns them. Empty: the setting
// takes any word.
std::vector<std::string> choices_of(const record::SettingInfo& setting);

// Returns the text for people, with the words in the place of {choices}: "sgd, momentum or adam".
std::string about(const record::SettingInfo& setting);

// Throws Error (usage) that names the setting, what is allowed and what was probably meant, for a word that
// is no choice of the command's setting.
void want_choice(const char* command, const char* setting, const std::string& given);

}  // namespace trainyard::run
