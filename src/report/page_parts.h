#pragma once

// The fixed texts of the page, and of the program that draws its charts without a browser.
namespace trainyard::report {

extern const char* const kPageStyle;   // CSS
extern const char* const kPageScript;  // draws the charts, saves them, sorts tables; needs kFitScript
// fit_spec(spec, width): the spec for a place of that width in pixels. Also run by Node, for files of charts.
extern const char* const kFitScript;
// For Node: draws charts, WIDTH VEGA VEGA_LITE ID..., from ID.json to ID.svg; needs kFitScript.
extern const char* const kNodeScript;

}  // namespace trainyard::report
