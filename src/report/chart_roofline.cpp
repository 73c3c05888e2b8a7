#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kRooflineView = R"json({
  "height": 340,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'roof'"}],
      "mark": {"type": "line", "strokeWidth": 2, "color": "@guide"},
      "encoding": {
        "x": {"field": "intensity", "type": "quantitative", "scale": {"type": "log", "nice": false}},
        "y": {"field": "rate", "type": "quantitative", "scale": {"type": "log"}}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'memory roof'"}],
      "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": "@guide"},
      "encoding": {
        "x": {"field": "intensity", "type": "quantitative"},
        "y": {"field": "rate", "type": "quantitative"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'point'"}],
      "mark": {"type": "point", "size": 40, "opacity": 0.6},
      "encoding": {
        "x": {"field": "intensity", "type": "quantitative", "title": "flops a byte", "axis": {"format": "~g"}},
        "y": {"field": "rate", "type": "quantitative", "title": "flops a second", "axis": {"format": "~s"}},
        "color": {"field": "series", "type": "nominal", "title": null, "sort": $series},
        "tooltip": [
          {"field": "label", "title": "point"}, {"field": "series"},
          {"field": "intensity", "type": "quantitative", "title": "flops a byte", "format": ".3~r"},
          {"field": "rate", "type": "quantitative", "title": "flops a second", "format": ".3~s"},
          {"field": "used", "type": "quantitative", "title": "of the roof above it", "format": ".1%"}
        ]
      }
    }
  ]
})json";

Chart make_roofline(const std::string& id, const std::string& title, const analyze::Roofs& roofs,
                    const std::vector<analyze::RooflinePoint>& placed,
                    const std::vector<std::string>& dimensions) {
  Chart chart{id, title, "", "", ""};
  std::vector<Row> rows;
  std::set<std::string> series;
  double least = roofs.ridge(), most = roofs.ridge();
  for (const analyze::RooflinePoint& one : placed) {
    record::Settings named;
    for (const std::string& name : dimensions) named[name] = one.point->keys.at(name);
    const std::string kind =
        one.category.empty() ? (one.below_ridge ? "below the ridge" : "above the ridge") : one.category;
    series.insert(kind);
    least = std::min(least, one.flops_per_byte);
    most = std::max(most, one.flops_per_byte);
    const double rate = one.peak_fraction * roofs.flops_per_second;
    rows.push_back({{"kind", std::string("point")},
                    {"intensity", one.flops_per_byte},
                    {"rate", rate},
                    {"used", rate / roofs.attainable(one.flops_per_byte)},
                    {"series", kind},
                    {"label", record::to_text(named)}});
  }
  analyze::Roofs memory = roofs;
  memory.cache_bytes_per_second = 0;
  const double inner_ridge =
      roofs.flops_per_second / std::max(roofs.bytes_per_second, roofs.cache_bytes_per_second);
  const auto add_roof = [&](const char* kind, const analyze::Roofs& roof, double ridge) {
    for (const double intensity : {std::min(least, inner_ridge) / 1.5, ridge, most * 1.5})
      rows.push_back(
          {{"kind", std::string(kind)}, {"intensity", intensity}, {"rate", roof.attainable(intensity)}});
  };
  add_roof("roof", roofs, inner_ridge);
  if (roofs.cache_bytes_per_second > 0) add_roof("memory roof", memory, roofs.ridge());
  chart.explanation = fmt::format(
      "Roofs: {:.3g} flops and {:.3g} bytes a second, which meet at {:.1f} flops a byte; {} of {} are "
      "below that ridge.",
      roofs.flops_per_second, roofs.bytes_per_second, roofs.ridge(), analyze::count_below_ridge(placed),
      placed.size());
  if (roofs.cache_bytes_per_second > 0)
    chart.explanation += " Dashed: of memory; above it, what stays in the caches.";
  chart.spec = finish_spec(
      fill_spec(kRooflineView, {{"series", to_json(std::vector<std::string>(series.begin(), series.end()))}}),
      rows, {}, {1, 420, 80});
  return chart;
}

}  // namespace

std::vector<Chart> make_roofline_charts(const analyze::Analysis& analysis) {
  const bool has_roofs = analysis.roofs.flops_per_second > 0 && analysis.roofs.bytes_per_second > 0;
  const std::string nothing = has_roofs ? "no run says how many flops and bytes a step has"
                                        : "no run measured both roofs: arithmetic and bandwidth";
  if (analysis.steps.empty() && analysis.ops.empty()) return {{"roofline", "Roofline", "", "", nothing}};
  const std::vector<std::string> named = analyze::dimensions_of(analysis.points);
  std::vector<Chart> charts;
  if (!analysis.steps.empty())
    charts.push_back(
        make_roofline("roofline", "Roofline of whole steps", analysis.roofs, analysis.steps, named));
  if (!analysis.ops.empty())
    charts.push_back(
        make_roofline("op-roofline", "Roofline of kinds of op", analysis.roofs, analysis.ops, named));
  return charts;
}

}  // namespace trainyard::report
