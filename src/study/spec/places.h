#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::study {

// Places in the texts of a study: "{batch}" stands for a value. "${HOME}" is the shell's and no place,
// "{{word}}" means the text "{word}".

// Names of the places in a text, each once, in their order; those that begin with a letter, as the "{4}" of a
// pattern is none.
std::vector<std::string> places_in(std::string_view text);

// The text with the value of each place that `value_of` knows; others, and doubled braces, stay.
using PlaceValue = std::function<std::optional<std::string>(const std::string& name)>;
std::string fill_places(std::string_view text, const PlaceValue& value_of);

// The text as it is meant: of doubled braces about a word, one pair stays. After everything is filled in.
std::string without_doubled_braces(std::string_view text);

}  // namespace trainyard::study
