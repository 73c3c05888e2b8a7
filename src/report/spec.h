#pragma once

#include "record/value.h"

// Vega-Lite specs as text: a chart's file holds its spec as JSON with $names, which stand for JSON values.
// Colours in it are names of the theme ("@ink").
namespace trainyard::report {

using Row = std::vector<std::pair<std::string, record::Value>>;

// These functions make JSON texts. Numbers that are not finite become null, bytes that are not UTF-8 the
// replacement character.
std::string to_json(const std::vector<Row>& rows);
std::string to_json(const std::vector<std::string>& words);
std::string to_json(const std::vector<double>& numbers);
std::string to_json(const std::string& word);
std::string to_json(double number);

// Puts the JSON texts of `values` in the place of their $names. The result is parsed: a template that is not
// JSON after that, or a $name without a value, is an Error (internal).
std::string fill_spec(std::string_view text, const std::map<std::string, std::string>& values);

// Ticks of a logarithmic axis: 1, 2, 5 times powers of ten up to so many decades, beyond them the powers
// alone.
std::vector<double> log_ticks(double from, double to, double decades = 2);

// Says how a chart takes the width it is given. Panels lie side by side while each keeps `least_width`.
struct Fit {
  int most_columns = 1;
  int least_width = 320;  // of a panel with its labels, in pixels
  int margin = 70;        // of a panel: what its y axis takes of that width
  // The field whose values stand at the y axis. It takes the margin that its longest value needs, less than
  // half of a panel; longer values go on in a second line.
  std::string labels = {};
  // Columns of a table of numbers: where they are narrow, "short" stands for a row's "text".
  int table_columns = 0;
};

// The view is drawn once per value of `values`, in that order, under the value as its title. Those without a
// row are left out. Scales are shared but for the channels in `own_scales` ("y").
struct Panels {
  std::string field;  // empty: one panel, without a title
  std::vector<std::string> values;
  std::vector<std::string> own_scales;
};

// Makes a whole spec from one view: schema, theme, data (the rows that the view's layers filter), fit. It is
// plain Vega-Lite; fit_spec (page.h) makes of it what fits a width and a mode.
std::string finish_spec(const std::string& view, const std::vector<Row>& rows, const Panels& panels,
                        const Fit& fit);

// Returns the house style as a Vega-Lite config object: fonts, greys, and a palette whose hues colour-blind
// people can tell apart (after Okabe and Ito, 2008). Its colours are names, "@ink": a chart is drawn in light
// and in dark, and fit_spec puts in the colours of the mode (page.h).
std::string theme();

// {"light": {"ink": "#1c2430", ...}, "dark": {...}}: the only place that knows colours. Text has a contrast
// of 4.5 or more on the ground of its mode, marks of 3 or more.
std::string palettes_json();
// Returns the same as CSS variables, --ink and so on: by what the reader's system prefers, and by data-theme
// of the root element where the reader chose.
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

// Returns the name of a colour that can be read on that family's.
std::string family_ink(const std::vector<std::string>& families, const std::string& family);

}  // namespace trainyard::report
