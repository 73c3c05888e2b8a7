#pragma once

#include "base/standard.h"

namespace trainyard::networks::layers {

// Holds what a $name stands for, as text.
using Variables = std::map<std::string, std::string, std::less<>>;

// Returns the value of "64", "$width * 2" or "$depth - 1": numbers and variables with + - * /, products
// before sums, without brackets. Throws Error (config) that says what is wrong with the text.
double evaluate(std::string_view text, const Variables& variables);

// Returns what "$name" stands for; other text as it is. Throws as above.
std::string substituted(const std::string& text, const Variables& variables);

}  // namespace trainyard::networks::layers
