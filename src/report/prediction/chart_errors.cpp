#include <algorithm>

#include <fmt/core.h>

#include "report/family_colours.h"
#include "report/number_text.h"
#include "report/prediction/eval_charts.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

// The text comes first, as all parts have one: it gives the bars their order.
constexpr const char* kErrorsView = R"json({
  "height": {"step": 30},
  "encoding": {
    "y": {"field": "part", "type": "nominal", "sort": null, "title": null, "axis": {"labelOverlap": false}}
  },
  "layer": [
    {
      "mark": {"type": "text", "align": "left", "dx": 10},
      "encoding": {
        "x": {"field": "p95", "type": "quantitative", "title": "|predicted - measured| / measured, %",
              "scale": {"domain": [0, $most], "nice": false}, "axis": {"format": ",~r", "tickCount": 8}},
        "text": {"field": "text"}
      }
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "rule", "strokeWidth": 1.6, "color": "@ink"},
      "encoding": {"x": {"field": "median", "type": "quantitative"}, "x2": {"field": "p95"}}
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "tick", "thickness": 1.6, "size": 11, "color": "@ink"},
      "encoding": {"x": {"field": "p95", "type": "quantitative"}, "tooltip": $tooltip}
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 3},
      "encoding": {"x": {"field": "median", "type": "quantitative"}, "color": $colour, "tooltip": $tooltip}
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "point", "size": 34, "filled": true, "fill": "@card", "stroke": "@ink", "strokeWidth": 1.1, "opacity": 1},
      "encoding": {"x": {"field": "mean", "type": "quantitative"}, "tooltip": $tooltip}
    }
  ]
})json";

constexpr const char* kErrorsTooltip = R"json([
  {"field": "part", "title": $parts}, {"field": "runs", "type": "quantitative"},
  {"field": "median", "type": "quantitative", "title": "median, %", "format": ".1f"},
  {"field": "mean", "type": "quantitative", "title": "mean, %", "format": ".1f"},
  {"field": "p95", "type": "quantitative", "title": "95 % of runs below, %", "format": ".1f"}
])json";

// The longest line has its figures behind it.
constexpr double kRoomForText = 1.25;

Row error_row(const std::string& name, const predict::Score& score, const std::string& series) {
  Row row{{"part", fmt::format("{} ({})", name, count_text(static_cast<long long>(score.runs), "run"))},
          {"runs", static_cast<std::int64_t>(score.runs)},
          {"series", series},
          {"median", 100 * score.median},
          {"mean", 100 * score.mape},
          {"p95", 100 * score.p95}};
  row.emplace_back("text", score.runs == 0 ? "no run ended well"
                                           : fmt::format("{} (95 %: {})", percent_text(score.median),
                                                         percent_text(score.p95)));
  return row;
}

}  // namespace

Chart make_errors_chart(const std::string& parts, predict::NamedScores scores,
                        const std::vector<std::string>& families) {
  Chart chart{
      "errors-" + parts, "Error by " + parts,
      "Bar: the median of relative errors. White dot: their mean. Line: up to what 95 % of runs stay below.",
      "", ""};
  if (scores.empty()) {
    chart.left_out = fmt::format("no run says its {}", parts);
    return chart;
  }
  if (scores.size() > kMostCells) {
    chart.left_out = fmt::format("{} are too many for bars", scores.size());
    return chart;
  }
  std::stable_sort(scores.begin(), scores.end(),
                   [](const auto& a, const auto& b) { return a.second.median > b.second.median; });
  std::vector<Row> rows;
  double most = 0.01;
  for (const auto& [name, score] : scores) most = std::max({most, score.p95, score.mape});
  for (const auto& [name, score] : scores)
    rows.push_back(error_row(name, score, families.empty() ? "" : name));
  const std::string colour =
      families.empty() ? fmt::format(R"({{"value": "{}"}})", kPlainColour) : family_colours(families, false);
  chart.spec = finish_spec(
      fill_spec(kErrorsView, {{"most", to_json(100 * most * kRoomForText)},
                              {"colour", colour},
                              {"tooltip", fill_spec(kErrorsTooltip, {{"parts", to_json(parts)}})}}),
      rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
