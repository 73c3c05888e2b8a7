#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/value.h"

namespace trainyard::study {

// Expands "16..16384 x2" (each twice the last) or "1..9 +2" (each two more), with both ends as given and the
// last value not beyond the end. Returns nothing for text that is no range at all; throws Error (config) for
// an impossible one.
std::optional<std::vector<record::Value>> expand_range(const std::string& text);

// KnownSetting is a setting that `bench`, `train` and `ensemble run` take as an option, or that asks a
// cluster for something.
struct KnownSetting {
  // counts: 2, or 3,4,6,3; output: a path for what the run leaves
  enum class Form { word, choice, count, counts, number, truth, output };

  const char* name;
  const char* option;  // of the command; nullptr: a resource, for the launcher
  const char* runs;    // "bench", "train", "both" of these, or "ensemble"
  Form form;
  std::vector<std::string> choices;  // of a choice
  // Reads the numbers that a choice "word:N" stands for.
  bool (*accepts)(const std::string& value) = nullptr;

  bool is_resource() const { return option == nullptr; }
  bool is_number() const { return form == Form::count || form == Form::number; }
};

// Returns the settings that a run of this kind may have. A program takes any name besides the resources.
std::vector<const KnownSetting*> known_settings(const std::string& run);
const KnownSetting* find_known_setting(const std::string& name, const std::string& run);

// Returns "" for a valid value, else the reason. Numbers have the range of the command's option
// (record/number_range.h).
std::string complaint_about(const KnownSetting& setting, const record::Value& value);

}  // namespace trainyard::study
