#include <algorithm>

#include <fmt/core.h>

#include "report/family_colours.h"
#include "report/number_text.h"
#include "report/prediction/eval_charts.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kCoverageView = R"json({
  "height": {"step": 30},
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'part'"}],
      "mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 3, "opacity": 0.82},
      "encoding": {
        "y": {"field": "part", "type": "nominal", "sort": null, "title": null, "axis": {"labelOverlap": false}},
        "x": {"field": "covered", "type": "quantitative", "title": "runs within their 90 % interval, %",
              "scale": {"domain": [0, 112], "nice": false}, "axis": {"values": [0, 20, 40, 60, 80, 90, 100]}},
        "color": $colour,
        "tooltip": [
          {"field": "part", "title": "family"},
          {"field": "covered", "type": "quantitative", "title": "within, %", "format": ".1f"}
        ]
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'part'"}],
      "mark": {"type": "text", "align": "left", "dx": 8},
      "encoding": {
        "y": {"field": "part", "type": "nominal", "sort": null},
        "x": {"field": "end", "type": "quantitative"}, "text": {"field": "text"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'promise'"}],
      "mark": {"type": "rule", "strokeWidth": 1.6, "strokeDash": [5, 4], "color": $alarm},
      "encoding": {"x": {"field": "covered", "type": "quantitative"}}
    }
  ]
})json";

}  // namespace

Chart make_coverage_chart(const EvalView& view) {
  Chart chart{"coverage", "Intervals kept, by family",
              "Dashed: the 90 % that intervals promise. More is too wide, less is too sure.", "", ""};
  const std::vector<std::string> families = families_of(view);
  if (!has_intervals(view)) {
    chart.left_out =
        "no prediction has an interval: the model was not calibrated (with --split: --intervals)";
    return chart;
  }
  if (families.empty()) {
    chart.left_out = "no run says its family";
    return chart;
  }
  predict::NamedScores scores = family_scores(view);
  std::erase_if(scores, [](const auto& one) { return one.second.runs == 0; });
  std::stable_sort(scores.begin(), scores.end(),
                   [](const auto& a, const auto& b) { return a.second.coverage < b.second.coverage; });
  std::vector<Row> rows;
  for (const auto& [name, score] : scores) {
    const double covered = 100 * score.coverage;
    rows.push_back(
        {{"kind", std::string("part")},
         {"part", fmt::format("{} ({})", name, count_text(static_cast<long long>(score.runs), "run"))},
         {"series", name},
         {"covered", covered},
         // A label of a bar that ends near the promise would lie across its line.
         {"end", covered > 80 && covered < 90 ? 90.0 : covered},
         {"text", percent_text(score.coverage)}});
  }
  rows.push_back({{"kind", std::string("promise")}, {"covered", 90.0}});
  chart.spec = finish_spec(fill_spec(kCoverageView, {{"colour", family_colours(families, false)},
                                                     {"alarm", to_json(std::string(kAlarmColour))}}),
                           rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
