#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/network_axes.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kWeightsView = R"json({
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
      "mark": {"type": "rule", "color": "@guide"},
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
  Chart chart{"weights", "What " + analysis.metric + " depends on", "", "", kNoSweep};
  std::vector<Row> rows;
  std::vector<std::string> features, panels, laws;
  for (const analyze::Part& part : analysis.parts) {
    if (!sweep_networks(part.dimensions)) continue;
    if (!part.first_order) {
      chart.left_out = "there are not more points with a result than settings that vary";
      continue;
    }
    const std::string of = part.name.empty() ? "" : part.name + ": ";
    panels.push_back(fmt::format("{}linear, R2 {:.2f}", of, part.first_order->r2));
    add_rows(*part.first_order, panels.back(), rows, features);
    if (part.second_order) {
      panels.push_back(fmt::format("{}with products, R2 {:.2f}", of, part.second_order->r2));
      add_rows(*part.second_order, panels.back(), rows, features);
    }
    if (part.power_law)
      laws.push_back(fmt::format("{}{:.0f} %", of, 100 * part.power_law->cross_validated_r2));
  }
  if (rows.empty() && !panels.empty()) chart.left_out = "no setting has any weight";
  if (rows.empty()) return chart;
  chart.left_out.clear();
  chart.explanation = fmt::format(
      "Linear models of {} in which every setting has mean 0 and deviation 1; with products: also of two "
      "settings.",
      analysis.metric);
  if (!laws.empty())
    chart.explanation +=
        fmt::format(" A power law explains of held-out logarithms {}.", fmt::join(laws, ", "));
  chart.spec = finish_spec(fill_spec(kWeightsView, {{"colour", to_json(std::string(kPlainColour))},
                                                    {"features", to_json(features)}}),
                           rows, {"panel", panels, {"y"}}, {2, 360, 0, "feature"});
  return chart;
}

}  // namespace trainyard::report
