#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/value.h"

// Vega-Lite specs as text: a chart's file holds its spec as JSON with $names, which stand for JSON values.
// Colours in it are names of the theme ("@ink").
namespace trainyard::report {

using Row = std::vector<std::pair<std::string, record::Value>>;

// JSON texts. Numbers that are not finite become null, bytes that are not UTF-8 the replacement character.
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

// How a chart takes the width it is given. Panels lie side by side while each keeps `least_width`.
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

}  // namespace trainyard::report
