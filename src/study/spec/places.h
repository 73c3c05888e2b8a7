#pragma once

#include "base/standard.h"

namespace trainyard::study {

// The texts of a study have places: "{batch}" stands for a value. "${HOME}" is the shell's and no place,
// "{{word}}" means the text "{word}".

// Returns the names of the places in a text, each once, in their order. A name begins with a letter, because
// the "{4}" of a pattern is no place.
std::vector<std::string> places_in(std::string_view text);

// Returns the text with the value of each place that `value_of` knows; others, and doubled braces, stay.
using PlaceValue = std::function<std::optional<std::string>(const std::string& name)>;
std::string fill_places(std::string_view text, const PlaceValue& value_of);

// Replaces doubled braces around a word by single ones. Call it after everything is filled in.
std::string without_doubled_braces(std::string_view text);

}  // namespace trainyard::study
