#include "base/text.h"
#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"

namespace trainyard::report {

namespace {

constexpr const char* kByDimension = R"json({
  "height": 240,
  "encoding": {"x": {"field": "value", "type": "ordinal", "title": null, "axis": {"labelAngle": 0, "grid": false}}},
  "layer": [
    {
      "mark": {"type": "rule", "strokeWidth": 1.5, "color": "@guide"},
      "encoding": {"y": {"field": "min", "type": "quantitative", "title": $title}, "y2": {"field": "max"}}
    },
    {
      "mark": {"type": "point", "size": 70, "filled": true, "color": $colour},
      "encoding": {
        "y": {"field": "mean", "type": "quantitative"},
        "tooltip": [
          {"field": "value"}, {"field": "mean", "type": "quantitative", "format": ".3~r"},
          {"field": "median", "type": "quantitative", "format": ".3~r"},
          {"field": "min", "type": "quantitative", "format": ".3~r"},
          {"field": "max", "type": "quantitative", "format": ".3~r"},
          {"field": "points", "type": "quantitative"}
        ]
      }
    },
    {"mark": {"type": "rule", "strokeDash": [5, 4], "color": "@guide"}, "encoding": {"y": {"datum": 1}}}
  ]
})json";

constexpr const char* kByParameters = R"json({
  "height": 320,
  "layer": [
    {
      "mark": {"type": "point", "size": 30, "opacity": 0.5},
      "encoding": {
        "x": {"field": "parameters", "type": "quantitative", "title": "parameters", "scale": {"type": "log"}, "axis": {"format": "~s"}},
        "y": {"field": "ratio", "type": "quantitative", "title": $title, "scale": {"type": "log"}, "axis": {"format": "~g"}},
        "color": {"field": "batch", "type": "quantitative", "title": "batch", "scale": {"type": "log", "range": ["@c6", "@c9"]}},
        "tooltip": [
          {"field": "label", "title": "point"},
          {"field": "parameters", "type": "quantitative", "format": ".3~s"},
          {"field": "ratio", "type": "quantitative", "format": ".3~r"}
        ]
      }
    },
    {"mark": {"type": "rule", "strokeDash": [5, 4], "color": "@guide"}, "encoding": {"y": {"datum": 1}}}
  ]
})json";

// A word of which the study has two values, and what they are.
struct TwoSystems {
  std::string key, a, b;
};

std::optional<TwoSystems> find_systems(const StudyView& view) {
  for (const char* key : {"device", "backend", "precision"})
    if (const Axis* axis = view.find_axis(key); axis != nullptr && axis->values.size() == 2)
      return TwoSystems{key, record::to_text(axis->values[0]), record::to_text(axis->values[1])};
  return std::nullopt;
}

std::vector<analyze::Point> points_with(const StudyView& view, const std::string& key,
                                        const std::string& value) {
  std::vector<record::RunRecord> runs;
  for (const CellView& cell : view.cells)
    if (record::to_text(cell.setting(key)) == value)
      for (const record::RunRecord* run : cell.done) runs.push_back(*run);
  return analyze::make_points(runs);
}

Chart by_dimension(const analyze::SystemComparison& comparison, const TwoSystems& systems) {
  Chart chart{"speedup", fmt::format("{} over {}", systems.b, systems.a), "", "", ""};
  std::vector<Row> rows;
  Panels panels{"panel", {}, {}};
  for (const auto& [dimension, values] : comparison.by_dimension) {
    panels.values.push_back(dimension);
    for (const auto& [value, summary] : values)
      rows.push_back({{"kind", std::string("value")},
                      {"panel", dimension},
                      {"value", value},
                      {"mean", summary.mean},
                      {"median", summary.median},
                      {"min", summary.min},
                      {"max", summary.max},
                      {"points", static_cast<std::int64_t>(summary.points)}});
  }
  panels.own_scales = {"x"};
  chart.explanation = fmt::format(
      "{} points that both have. Dots: mean ratio of images a second, lines: least to most. Geometric mean "
      "{:.2f}, below one in {:.0f} %.",
      comparison.all.points, comparison.all.geometric_mean, 100 * comparison.all.below_one);
  chart.spec = finish_spec(fill_spec(kByDimension, {{"title", to_json(chart.title)},
                                                    {"colour", to_json(std::string(kPlainColour))}}),
                           rows, panels, {3, 280, 70});
  return chart;
}

Chart by_parameters(const analyze::SystemComparison& comparison, const TwoSystems& systems) {
  Chart chart{"speedup-parameters", fmt::format("{} over {}, by parameters", systems.b, systems.a),
              "A dot a point that both have. Dashed: alike.", "", ""};
  std::vector<Row> rows;
  for (const analyze::JoinedPoint& one : comparison.joined) {
    const double parameters = one.a->metric("parameters");
    if (!(parameters > 0) || !(one.ratio > 0)) continue;
    record::Settings named;
    for (const auto& [dimension, values] : comparison.by_dimension)
      named[dimension] = one.a->keys.at(dimension);
    Row row{{"kind", std::string("point")},
            {"parameters", parameters},
            {"ratio", one.ratio},
            {"label", record::to_text(named)}};
    if (const double batch = one.a->key("batch"); batch > 0) row.push_back({"batch", batch});
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    chart.left_out = "no run says its parameters";
    return chart;
  }
  chart.spec = finish_spec(
      fill_spec(kByParameters, {{"title", to_json(fmt::format("{} over {}", systems.b, systems.a))}}), rows,
      {}, {1, 420, 80});
  return chart;
}

}  // namespace

std::vector<Chart> make_speedup_charts(const StudyView& view) {
  Chart none{"speedup", "Speed-up of two systems", "", "", ""};
  const std::optional<TwoSystems> systems = find_systems(view);
  if (!systems) {
    none.left_out = "none of device, backend and precision has two values in this study";
    return {none};
  }
  const std::vector<analyze::Point> a = points_with(view, systems->key, systems->a),
                                    b = points_with(view, systems->key, systems->b);
  if (analyze::join_points(a, b, "images_per_second", {systems->key, "backend"}).empty()) {
    none.left_out = fmt::format("no point ran with {} {} and {}", systems->key, systems->a, systems->b);
    return {none};
  }
  const analyze::SystemComparison comparison =
      analyze::compare_systems(a, b, "images_per_second", {systems->key, "backend"});
  if (comparison.by_dimension.empty()) {
    none.left_out = "no number varies beside the two systems";
    return {none};
  }
  return {by_dimension(comparison, *systems), by_parameters(comparison, *systems)};
}

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
    chart.explanation += fmt::format(" A power law explains of held-out logarithms {}.", joined(laws, ", "));
  chart.spec = finish_spec(fill_spec(kWeightsView, {{"colour", to_json(std::string(kPlainColour))},
                                                    {"features", to_json(features)}}),
                           rows, {"panel", panels, {"y"}}, {2, 360, 0, "feature"});
  return chart;
}

}  // namespace trainyard::report
