#pragma once

#include <string>
#include <vector>

namespace trainyard::report {

// The house style as a Vega-Lite config object: fonts, greys, and a palette whose hues colour-blind people
// can tell apart (after Okabe and Ito, 2008). Its colours are names, "@ink": a chart is drawn in light and in
// dark, and fit_spec puts in the colours of the mode (page.h).
std::string theme();

// {"light": {"ink": "#1c2430", ...}, "dark": {...}}: the only place that knows colours. Text has a contrast
// of 4.5 or more on the ground of its mode, marks of 3 or more.
std::string palettes_json();
// The same as CSS variables, --ink and so on: by what the reader's system prefers, and by data-theme of the
// root element where the reader chose.
std::string palettes_css();

// Names of colours for what is not a series.
inline constexpr const char* kPlainColour = "@c1";
inline constexpr const char* kAlarmColour = "@alarm";
inline constexpr int kPaletteColours = 8;
// Families of networks are more than people can tell apart by hue: a second tone of each, "@c9" to "@c16".
inline constexpr int kPaletteTones = 16;

// JSON of a Vega-Lite colour channel over the field "series", which holds families of networks: each of
// `families` has the same colour in every chart that is given the same list. Without a legend where they are
// fewer than two, or where the chart names them already.
std::string family_colours(const std::vector<std::string>& families, bool legend = true);

// The name of a colour that can be read on that family's.
std::string family_ink(const std::vector<std::string>& families, const std::string& family);

}  // namespace trainyard::report
