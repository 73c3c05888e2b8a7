#pragma once

#include <string>

// The fixed texts of the page, and of the program that draws its charts without a browser.
namespace trainyard::report {

extern const char* const kPageStyle;   // CSS; needs palettes_css (theme.h)
extern const char* const kPageScript;  // draws the charts, saves them, sorts tables; needs fit_script
extern const char* const kModeScript;  // for the head of the page: the reader's choice of light or dark
// fit_spec(spec, width, mode): the spec for a place of that width in pixels, in "light" or "dark". Also run
// by Node, for files of charts.
std::string fit_script();
// For Node: draws charts, WIDTH VEGA VEGA_LITE ID..., from ID.json to ID.svg; needs fit_script.
extern const char* const kNodeScript;

}  // namespace trainyard::report
