#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kOpsView = R"json({
  "height": 300,
  "mark": {"type": "bar"},
  "encoding": {
    "x": {"field": "point", "type": "nominal", "title": null, "sort": $points, "axis": {"labels": $labels, "ticks": false}},
    "y": {"field": "share", "type": "quantitative", "title": "share of the step", "axis": {"format": "%"}},
    "color": {"field": "category", "type": "nominal", "title": null, "sort": $categories},
    "order": {"field": "rank", "type": "quantitative"},
    "tooltip": [
      {"field": "point"}, {"field": "category", "title": "op"},
      {"field": "share", "type": "quantitative", "format": ".1%"}
    ]
  }
})json";

constexpr std::size_t kMostLabels = 16;

}  // namespace

Chart make_ops_chart(const analyze::Analysis& analysis) {
  Chart chart{"ops", "Time by kind of op", "", "", ""};
  if (analysis.categories.empty()) {
    chart.left_out = "no run says what its ops took";
    return chart;
  }
  // As many kinds as there are colours: the last takes in the rest.
  constexpr std::size_t kMost = kPaletteColours;
  const auto name_of = [&](const std::string& category) -> std::pair<std::string, std::int64_t> {
    for (std::size_t i = 0; i < analysis.categories.size(); ++i)
      if (analysis.categories[i].category == category &&
          (i + 1 < kMost || analysis.categories.size() <= kMost))
        return {category, static_cast<std::int64_t>(i)};
    return {"other", static_cast<std::int64_t>(kMost)};
  };
  const std::vector<std::string> dimensions = analyze::dimensions_of(analysis.points);
  std::vector<Row> rows;
  std::vector<std::string> points, categories;
  for (const analyze::Point& point : analysis.points) {
    if (point.ops.empty()) continue;
    record::Settings named;
    for (const std::string& dimension : dimensions) named[dimension] = point.keys.at(dimension);
    points.push_back(named.empty() ? "the only point" : record::to_text(named));
    std::map<std::pair<std::string, std::int64_t>, double> shares;
    for (const analyze::OpCategory& category : point.ops)
      if (std::isfinite(category.time_fraction)) shares[name_of(category.name)] += category.time_fraction;
    for (const auto& [kind, share] : shares) {
      if (std::find(categories.begin(), categories.end(), kind.first) == categories.end())
        categories.push_back(kind.first);
      rows.push_back({{"kind", std::string("share")},
                      {"point", points.back()},
                      {"category", kind.first},
                      {"rank", kind.second},
                      {"share", share}});
    }
  }
  std::stable_sort(categories.begin(), categories.end(), [&](const std::string& a, const std::string& b) {
    return name_of(a).second < name_of(b).second;
  });
  chart.explanation = fmt::format(
      "A bar a point, {} of them; kinds that take most on average are at the bottom.", points.size());
  chart.spec = finish_spec(fill_spec(kOpsView, {{"points", to_json(points)},
                                                {"categories", to_json(categories)},
                                                {"labels", points.size() <= kMostLabels ? "true" : "false"}}),
                           rows, {}, {1, 420, 80});
  return chart;
}

}  // namespace trainyard::report
