#include <fmt/format.h>

#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kLimitsView = R"json({
  "height": 320,
  "mark": {"type": "point", "size": 55, "opacity": 0.75, "filled": true},
  "encoding": {
    "x": {"field": "intensity", "type": "quantitative", "title": "flops a byte", "scale": {"type": "log"}, "axis": {"format": "~g"}},
    "y": {"field": "milliseconds", "type": "quantitative", "title": "milliseconds a step", "scale": {"type": "log"}, "axis": {"format": "~g"}},
    "color": {"field": "limit", "type": "nominal", "title": "limited by",
              "scale": {"domain": ["launch", "bandwidth", "compute", "host"], "range": ["@c5", "@c1", "@c3", "@c4"]}},
    "shape": {"field": "limit", "type": "nominal", "title": "limited by",
              "scale": {"domain": ["launch", "bandwidth", "compute", "host"]}},
    "tooltip": [
      {"field": "label", "title": "point"}, {"field": "limit", "title": "limited by"},
      {"field": "milliseconds", "type": "quantitative", "title": "measured, ms", "format": ".3~r"},
      {"field": "predicted", "type": "quantitative", "title": "model, ms", "format": ".3~r"},
      {"field": "launch", "type": "quantitative", "title": "launches alone, ms", "format": ".3~r"},
      {"field": "bandwidth", "type": "quantitative", "title": "bandwidth alone, ms", "format": ".3~r"},
      {"field": "compute", "type": "quantitative", "title": "arithmetic alone, ms", "format": ".3~r"}
    ]
  }
})json";

}  // namespace

Chart make_limits_chart(const analyze::Analysis& analysis) {
  Chart chart{"limits", "What limits each point", "", "", ""};
  const std::vector<std::string> dimensions = analyze::dimensions_of(analysis.points);
  std::vector<Row> rows;
  std::string errors;
  Panels panels;
  for (const analyze::LimitedGroup& group : analysis.limits) {
    if (group.fitted == 0) continue;
    panels.values.push_back(group.name);
    errors += fmt::format("{}{:.0f} % ({})", errors.empty() ? "" : ", ", 100 * group.mean_relative_error,
                          group.name);
    for (const analyze::LimitedPoint& one : group.points) {
      if (!(one.predicted_seconds > 0)) continue;
      record::Settings named;
      for (const std::string& name : dimensions) named[name] = one.point->keys.at(name);
      rows.push_back(
          {{"kind", std::string("point")},
           {"panel", group.name},
           {"intensity", one.point->metric("flops_per_step") / one.point->metric("bytes_per_step")},
           {"milliseconds", 1e3 * one.point->metric("step_seconds")},
           {"limit", std::string(analyze::name(one.limit))},
           {"label", record::to_text(named)},
           {"predicted", 1e3 * one.predicted_seconds},
           {"launch", 1e3 * one.parts.launch},
           {"bandwidth", 1e3 * one.parts.bandwidth},
           {"compute", 1e3 * one.parts.compute}});
    }
  }
  if (rows.empty()) {
    chart.left_out = "fewer than nine points say what their steps do and take";
    return chart;
  }
  if (panels.values.size() > 1) panels.field = "panel";
  chart.explanation = fmt::format(
      "By a model of launches, bandwidth, arithmetic and input that was fitted to these points; its mean "
      "error is "
      "{}.",
      errors);
  chart.spec = finish_spec(fill_spec(kLimitsView, {}), rows, panels, {2, 380, 80});
  return chart;
}

}  // namespace trainyard::report
