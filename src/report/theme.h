#pragma once

#include <string>

namespace trainyard::report {

// The house style as a Vega-Lite config object: fonts, greys, and a palette that colour-blind people can read
// (Okabe and Ito, 2008).
std::string theme();

// The colour of what is not a series: bars of one kind, marks of things that went wrong.
inline constexpr const char* kPlainColour = "#0072B2";
inline constexpr const char* kAlarmColour = "#C4320A";
inline constexpr int kPaletteColours = 8;

}  // namespace trainyard::report
