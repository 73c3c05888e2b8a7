#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/value.h"

// Vega-Lite specs as text: a chart's file holds its spec as JSON with $names, which stand for JSON values.
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

// How a chart takes the width it is given. Panels lie side by side while each keeps `least_width`.
struct Fit {
  int most_columns = 1;
  int least_width = 320;  // of a panel with its labels, in pixels
  int margin = 70;        // of a panel: what its labels take of that width
};

// The margin for labels of so many letters at the left.
int label_margin(std::size_t longest_label);

// A whole spec from one view: schema, theme, data (the rows that the view's layers filter), fit. With a
// `panel_field` the view is drawn once per value of `panels`, in that order, each with a scale of its own for
// the channels in `own_scales` ("y").
struct Panels {
  std::string field;  // empty: one panel, without a header
  std::vector<std::string> values;
  std::vector<std::string> own_scales;
};
std::string finish_spec(const std::string& view, const std::vector<Row>& rows, const Panels& panels,
                        const Fit& fit);

}  // namespace trainyard::report
