#pragma once

#include <type_traits>

#include "base/device_spec.h"
#include "record/value.h"

namespace trainyard::record {

// SettingInfo is a row of the table of settings: an option of commands, a key of studies, an entry of `asked`
// in records. Options, keys, ranges, defaults and the reference tables of docs/ are made from it.
struct SettingInfo {
  // counts: 2, or 3,4,6,3; output: a path for what the run leaves
  enum class Form { word, choice, count, counts, number, truth, output };
  // These commands take it; a resource is for the launcher of a study and no option.
  enum Command : unsigned { kBench = 1, kTrain = 2, kExplain = 4, kEnsemble = 8, kResource = 16 };
  // When `asked` of a record holds it. given: where it differs from its default; never: what it decides is
  // told elsewhere in the record
  enum class Asked : std::uint8_t { given, always, never };

  std::string name;  // as in a study; the option has '-' for '_'
  unsigned commands = 0;
  Form form = Form::word;
  std::optional<NumberRange> range;  // of a number
  std::vector<std::string> choices;  // of a choice; none: the owner of the words knows them
  std::string fallback;              // the default; empty: none, or one that `about` tells
  std::string about;                 // for people; {choices} stands for the words
  std::string letter;                // short form of the option
  std::string type;                  // what --help shows for its value; empty: by the type
  bool in_studies = true;            // a study may have it
  bool compared = true;              // runs that differ in it are not comparable
  bool as_it_ran = false;            // the result of this name in a record says what really ran
  Asked asked = Asked::given;

  bool is_resource() const { return commands == kResource; }
  bool is_number() const { return form == Form::count || form == Form::number; }
  std::string option() const;  // "--decay-steps"
};

// Returns the whole table. A name has several rows where commands give it several meanings.
const std::vector<SettingInfo>& all_settings();

// Returns the row of a name for a command of studies, "bench", "train" or "ensemble", or null. Resources have
// a row for any command.
const SettingInfo* find_setting(std::string_view name, std::string_view command);
// REQUIRES: there is one.
const SettingInfo& setting_of(std::string_view name, std::string_view command);

// Returns true when the command takes the setting.
bool takes(std::string_view command, const SettingInfo& setting);

// These return the default of a setting. REQUIRES: it has one of this type.
std::string default_text(std::string_view name, std::string_view command = "train");
double default_number(std::string_view name, std::string_view command = "train");
std::int64_t default_whole(std::string_view name, std::string_view command = "train");

// Returns the range of the first setting of this name that is a number, or null.
const NumberRange* find_range(std::string_view name);
// REQUIRES: there is one.
const NumberRange& range_of(std::string_view name);

// Returns false for settings that only tell how long a run takes or where it waits: runs that differ in
// them alone are comparable. A name that is no setting decides comparability.
bool is_compared(std::string_view name);

// Returns the value of an option's field in the form in which a study's file would give it: 30.0 is 30.
Value as_given(double field);
template <typename T>
Value as_given(const T& field) {
  if constexpr (std::is_same_v<T, DeviceSpec>)
    return field.to_string();
  else if constexpr (std::is_same_v<T, std::filesystem::path>)
    return field.string();
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return static_cast<std::int64_t>(field);
  else
    return field;
}

// Adds the value of a setting to `asked` of a record, where its row wants it there.
void add_asked(const SettingInfo& setting, const Value& value, Settings& asked);

// Returns the words of a setting that other folders own; empty: every word is taken.
using ChoicesOf = std::function<std::vector<std::string>(const SettingInfo&)>;

// Tells whether a word is one of the choices. A choice that ends in ":N" stands for all whole numbers.
bool is_choice(std::string_view word, const std::vector<std::string>& choices);

// Returns "" for a valid value, else the reason. `choices` are those of a setting whose words others own.
std::string complaint_about(const SettingInfo& setting, const Value& value,
                            const std::vector<std::string>& choices = {});

}  // namespace trainyard::record
