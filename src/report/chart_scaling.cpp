#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kScalingView = R"json({
  "height": 300,
  "encoding": {
    "x": {"field": "count", "type": "quantitative", "title": $title, "scale": $scale,
          "axis": {"values": $counts, "format": "d", "grid": false}},
    "y": {"type": "quantitative", "title": null, "scale": $scale_y, "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 6}},
    "color": $colour
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 0.65},
      "encoding": {"y": {"field": "ideal"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 22, "opacity": 0.35},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line"},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "rule", "strokeWidth": 2},
      "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "point", "size": 70},
      "encoding": {
        "y": {"field": "value"},
        "tooltip": [
          {"field": "label", "title": "cell"},
          {"field": "value", "type": "quantitative", "title": "images/s", "format": ",.4~r"},
          {"field": "low", "type": "quantitative", "title": "95 % from", "format": ",.4~r"},
          {"field": "high", "type": "quantitative", "title": "95 % to", "format": ",.4~r"},
          {"field": "ideal", "type": "quantitative", "title": "ideal", "format": ",.4~r"},
          {"field": "efficiency", "type": "quantitative", "title": "efficiency", "format": ".1%"}
        ]
      }
    }
  ]
})json";

// Strong: the images of a step stay. Weak: they grow with the count. As measured, not as named.
std::string kind_of_scaling(const StudyView& view, const std::string& axis) {
  std::map<std::string, std::set<std::pair<double, double>>> by_series;  // count, images per step
  const Series series(view, axis);
  for (const Cell& cell : view.cells)
    for (const record::RunRecord* run : cell.done)
      by_series[series.panel(cell) + series.name(cell)].insert(
          {record::number_or(cell.setting(axis), 0), run->images_per_step});
  bool strong = true, weak = true;
  for (const auto& [name, points] : by_series)
    for (const auto& [count, images] : points) {
      const auto& [first_count, first_images] = *points.begin();
      strong = strong && images == first_images;
      weak = weak && images * first_count == first_images * count;
    }
  if (strong) return "strong scaling: a step has the same images throughout";
  return weak ? "weak scaling: the images of a step grow with the count"
              : "strong and weak scaling mixed: the images of a step vary in their own way";
}

class ScalingRows {
 public:
  ScalingRows(const StudyView& view, const std::string& axis, const std::string& one)
      : series_(view, axis), axis_(axis) {
    measures_ = {"Total, images per second", fmt::format("Per {}, images per second", one)};
    for (const Cell& cell : view.cells) {
      const double count = record::number_or(cell.setting(axis), 0);
      if (cell.throughput.runs == 0 || count <= 0) continue;
      // Cells are in the order of counts: the first of a series is its base.
      base_.try_emplace(key(cell), count, cell.throughput.mean);
      counts_.insert(count);
      add(cell, count);
    }
    for (const std::string& measure : measures_)
      for (const std::string& panel : series_.has_panels() ? series_.panels() : std::vector<std::string>{""})
        panels_.push_back(title(measure, panel));
  }

  const Series& series() const { return series_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& panels() const { return panels_; }
  std::vector<double> counts() const { return {counts_.begin(), counts_.end()}; }

 private:
  std::string key(const Cell& cell) const { return series_.panel(cell) + "\n" + series_.name(cell); }
  static std::string title(const std::string& measure, const std::string& panel) {
    return panel.empty() ? measure : measure + ": " + panel;
  }

  void add(const Cell& cell, double count) {
    const auto& [base_count, base_speed] = base_.at(key(cell));
    const Throughput& speed = cell.throughput;
    for (int measure = 0; measure < 2; ++measure) {
      const double share = measure == 0 ? 1 : 1 / count;  // of the total
      const double ideal = base_speed * count / base_count;
      const Row head{{"count", count},
                     {"series", series_.name(cell)},
                     {"panel", title(measures_[measure], series_.panel(cell))}};
      Row row = head;
      row.insert(row.end(), {{"kind", std::string("cell")},
                             {"label", cell.label},
                             {"value", speed.mean * share},
                             {"ideal", ideal * share},
                             {"efficiency", speed.mean / ideal}});
      if (speed.has_interval())
        row.insert(row.end(), {{"low", speed.drawn_low() * share}, {"high", speed.interval.high * share}});
      rows_.push_back(std::move(row));
      for (const record::RunRecord* run : cell.done) {
        if (!run->images_per_second) continue;
        Row dot = head;
        dot.insert(dot.end(), {{"kind", std::string("run")}, {"value", *run->images_per_second * share}});
        rows_.push_back(std::move(dot));
      }
    }
  }

  Series series_;
  std::string axis_;
  std::vector<std::string> measures_, panels_;
  std::map<std::string, std::pair<double, double>> base_;  // count and speed
  std::set<double> counts_;
  std::vector<Row> rows_;
};

// What an axis counts, one of it.
constexpr std::pair<const char*, const char*> kCounts[] = {
    {"threads", "thread"}, {"devices", "device"},      {"gpus", "GPU"},
    {"workers", "worker"}, {"tasks_per_node", "task"}, {"nodes", "node"}};

Chart make_scaling_chart(const StudyView& view, const std::string& axis, const std::string& one) {
  const std::string many = one + "s";
  Chart chart{"scaling-" + axis, fmt::format("Scaling with {}", many), "", "", ""};
  const ScalingRows scaling(view, axis, one);
  const std::vector<double> counts = scaling.counts();
  if (counts.size() < 2) {
    chart.left_out = fmt::format("fewer than two values of '{}' have results", axis);
    return chart;
  }
  chart.explanation =
      fmt::format("Dashed: ideal, from the fewest {} on. This is {}.", many, kind_of_scaling(view, axis));
  // A wide range is read on logarithms, where the ideal stays a straight line.
  const bool wide = counts.back() / counts.front() > 16;
  const std::string view_text =
      fill_spec(kScalingView, {{"title", to_json(many)},
                               {"counts", to_json(counts)},
                               {"scale", wide ? R"({"type": "log", "base": 2, "nice": false})"
                                              : R"({"zero": false, "nice": false, "padding": 14})"},
                               {"scale_y", wide ? R"({"type": "log"})" : R"({"zero": true})"},
                               {"colour", scaling.series().colour_channel()}});
  chart.spec = finish_spec(view_text, scaling.rows(), {"panel", scaling.panels(), {"y"}}, {2, 360, 60});
  return chart;
}

}  // namespace

std::vector<Chart> make_scaling_charts(const StudyView& view) {
  std::vector<Chart> charts;
  std::string names;
  for (const auto& [axis, one] : kCounts) {
    const Axis* found = view.find_axis(axis);
    if (found != nullptr && found->numeric) charts.push_back(make_scaling_chart(view, axis, one));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", axis);
  }
  if (charts.empty())
    charts.push_back({"scaling", "Scaling", "", "", fmt::format("none of {} varies in this study", names)});
  return charts;
}

}  // namespace trainyard::report
