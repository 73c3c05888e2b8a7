#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/network_axes.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kView = R"json({
  "height": {"step": 22},
  "layer": [
    {
      "mark": {"type": "bar", "color": $colour},
      "encoding": {
        "x": {"field": "weight", "type": "quantitative", "title": "weight (deviations for a deviation)"},
        "y": {"field": "feature", "type": "nominal", "title": null, "sort": $features},
        "tooltip": [{"field": "feature"}, {"field": "weight", "type": "quantitative", "format": ".4f"}]
      }
    },
    {
      "mark": {"type": "rule", "color": "#8a949e"},
      "encoding": {"x": {"datum": 0}}
    }
  ]
})json";

constexpr double kLeast = 0.01;  // a weight that is seen

void add_rows(const analyze::Regression& regression, const std::string& panel, std::vector<Row>& rows,
              std::vector<std::string>& features) {
  for (std::size_t i = 0; i < regression.weights.size(); ++i) {
    if (std::abs(regression.weights[i]) < kLeast) continue;
    const std::string& feature = regression.features[i];
    if (std::find(features.begin(), features.end(), feature) == features.end()) features.push_back(feature);
    rows.push_back({{"kind", std::string("weight")},
                    {"panel", panel},
                    {"feature", feature},
                    {"weight", regression.weights[i]}});
  }
}

}  // namespace

Chart make_weights_chart(const analyze::Analysis& analysis) {
  Chart chart{"weights", "What " + analysis.metric + " depends on", "", "", ""};
  if (!sweep_networks(analysis.dimensions)) chart.left_out = kNoSweep;
  if (chart.left_out.empty() && !analysis.first_order)
    chart.left_out = "there are not more points with a result than settings that vary";
  if (!chart.left_out.empty()) return chart;
  std::vector<Row> rows;
  std::vector<std::string> features, panels{fmt::format("linear, R2 {:.2f}", analysis.first_order->r2)};
  add_rows(*analysis.first_order, panels[0], rows, features);
  if (analysis.second_order) {
    panels.push_back(fmt::format("with products, R2 {:.2f}", analysis.second_order->r2));
    add_rows(*analysis.second_order, panels[1], rows, features);
  }
  if (rows.empty()) {
    chart.left_out = "no setting has any weight";
    return chart;
  }
  chart.explanation = fmt::format(
      "Linear models of {} in which every setting has mean 0 and deviation 1, over {} points; left: the "
      "settings, "
      "right: with all products of two.",
      analysis.metric, analysis.first_order->points);
  if (analysis.power_law)
    chart.explanation += fmt::format(" A power law explains {:.0f} % of held-out logarithms.",
                                     100 * analysis.power_law->cross_validated_r2);
  chart.spec = finish_spec(
      fill_spec(kView, {{"colour", to_json(std::string(kPlainColour))}, {"features", to_json(features)}}),
      rows, {"panel", panels, {"y"}}, {2, 360, label_margin(18)});
  return chart;
}

}  // namespace trainyard::report
