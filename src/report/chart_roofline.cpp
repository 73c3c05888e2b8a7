#include "base/text.h"
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

namespace {

constexpr const char* kOpsView = R"json({
  "height": 240,
  "mark": {"type": "bar"},
  "encoding": {
    "x": {"field": "place", "type": "ordinal", "title": $title, "axis": {"labels": false, "ticks": false}},
    "y": {"field": "share", "type": "quantitative", "title": "share of the step", "axis": {"format": "%"}},
    "color": {"field": "category", "type": "nominal", "title": null, "scale": {"domain": $categories, "range": $tones}},
    "order": {"field": "rank", "type": "quantitative"},
    "tooltip": [
      {"field": "label", "title": "point"}, {"field": "category", "title": "op"},
      {"field": "share", "type": "quantitative", "format": ".1%"}
    ]
  }
})json";

// PointNames holds the keys that differ between points, words and numbers apart: what families and their
// members are named by.
struct PointNames {
  std::vector<std::string> words, numbers;

  explicit PointNames(const std::vector<const analyze::Point*>& points) {
    std::map<std::string, std::set<record::Value>> values;
    std::map<std::string, std::size_t> holders;
    for (const analyze::Point* point : points)
      for (const auto& [key, value] : point->keys) {
        values[key].insert(value);
        ++holders[key];
      }
    for (const auto& [key, found] : values) {
      if (found.size() == 1 && holders[key] == points.size()) continue;
      const bool word = std::any_of(found.begin(), found.end(), [](const record::Value& value) {
        return std::holds_alternative<std::string>(value);
      });
      (word ? words : numbers).push_back(key);
    }
  }

  static std::string text(const analyze::Point& point, const std::vector<std::string>& keys) {
    std::string result;
    for (const std::string& key : keys) {
      const auto found = point.keys.find(key);
      if (found == point.keys.end()) continue;
      const bool word = std::holds_alternative<std::string>(found->second);
      result += (result.empty() ? "" : ", ") + (word ? "" : key + " ") + record::to_text(found->second);
    }
    return result;
  }
  std::string family(const analyze::Point& point) const { return text(point, words); }
  std::string name(const analyze::Point& point) const {
    const std::string a = family(point), b = text(point, numbers);
    return a.empty() && b.empty() ? "the only point" : a.empty() || b.empty() ? a + b : a + ", " + b;
  }
};

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
  std::vector<const analyze::Point*> points;
  for (const analyze::Point& point : analysis.points)
    if (!point.ops.empty()) points.push_back(&point);
  const PointNames names(points);
  std::vector<Row> rows;
  std::vector<std::string> categories;
  std::map<std::string, std::int64_t> members;  // by family
  Panels panels{"panel", {}, {"x"}};
  for (const analyze::Point* point : points) {
    const std::string family = names.family(*point);
    if (!members.contains(family)) panels.values.push_back(family);
    const std::int64_t place = ++members[family];
    std::map<std::pair<std::string, std::int64_t>, double> shares;
    for (const analyze::OpCategory& category : point->ops)
      if (std::isfinite(category.time_fraction)) shares[name_of(category.name)] += category.time_fraction;
    for (const auto& [kind, share] : shares) {
      if (std::find(categories.begin(), categories.end(), kind.first) == categories.end())
        categories.push_back(kind.first);
      rows.push_back({{"kind", std::string("share")},
                      {"panel", family},
                      {"place", place},
                      {"label", names.name(*point)},
                      {"series", kind.first},
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
  if (panels.values.size() == 1) panels = {};
  std::vector<std::string> tones;
  for (std::size_t i = 0; i < categories.size(); ++i)
    tones.push_back(fmt::format("@c{}", i % kPaletteTones + 1));
  chart.spec = finish_spec(
      fill_spec(kOpsView, {{"categories", to_json(categories)},
                           {"tones", to_json(tones)},
                           {"title", to_json(fmt::format("points, by {}", joined(names.numbers, ", ")))}}),
      rows, panels, {3, 300, 70});
  return chart;
}

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
