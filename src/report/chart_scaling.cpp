#include <cctype>

#include "base/text.h"
#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"

namespace trainyard::report {

namespace {

constexpr const char* kScalingView = R"json({
  "height": $height,
  "encoding": {
    "x": {"field": "count", "type": "quantitative", "title": $title, "scale": $scale,
          "axis": {"values": $counts, "format": "d", "grid": false, "labelOverlap": "greedy"}},
    "y": {"type": "quantitative", "title": $title_y, "scale": $scale_y, "axis": {"labelExpr": "format(datum.value, ',.6~r')", $ticks}},
    "color": $colour
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.2, "opacity": $ideal},
      "encoding": {"y": {"field": "ideal"}, "detail": {"field": "line"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 22, "opacity": 0.35},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line", "strokeWidth": $stroke},
      "encoding": {"y": {"field": "value"}, "detail": {"field": "line"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "rule", "strokeWidth": $stroke},
      "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "point", "size": $dot},
      "encoding": {
        "y": {"field": "value"}, "shape": $shape,
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
std::string kind_of_scaling(const Series& series, const Cells& cells, const std::string& axis) {
  std::map<std::string, std::set<std::pair<double, double>>> by_series;  // count, images per step
  for (const CellView* cell : cells)
    for (const record::RunRecord* run : cell->done)
      by_series[series.line(*cell)].insert({record::number_or(cell->setting(axis), 0), run->images_per_step});
  bool strong = true, weak = true;
  for (const auto& [name, points] : by_series)
    for (const auto& [count, images] : points) {
      const auto& [first_count, first_images] = *points.begin();
      strong = strong && images == first_images;
      weak = weak && images * first_count == first_images * count;
    }
  if (strong) return "strong scaling (a step has the same images throughout)";
  return weak ? "weak scaling (the images of a step grow with the count)"
              : "strong and weak scaling mixed (the images of a step vary in their own way)";
}

// Returns the kind of scaling of all panels, or of each if they differ.
std::string kinds_of_scaling(const Series& series, const std::string& axis) {
  std::map<std::string, Cells> by_panel;
  for (const CellView* cell : series.cells()) by_panel[series.panel(*cell)].push_back(cell);
  std::map<std::string, std::vector<std::string>> panels;  // by kind
  for (const auto& [panel, cells] : by_panel) panels[kind_of_scaling(series, cells, axis)].push_back(panel);
  if (panels.size() == 1) return fmt::format("This is {}.", panels.begin()->first);
  std::string text;
  for (const auto& [kind, names] : panels)
    text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", joined(names, ", "), kind);
  return text;
}

class ScalingRows {
 public:
  ScalingRows(const StudyView& view, const std::string& axis, const std::string& one)
      : series_(view, axis), axis_(axis) {
    for (const CellView* cell : series_.cells()) counts_.insert(record::number_or(cell->setting(axis), 0));
    // Many panels are enough without the same speeds again per one; on logarithms they only lie slanted.
    measures_ = {"Total, images per second"};
    if (series_.panels().size() <= kMostTwice && !wide())
      measures_.push_back(fmt::format("Per {}, images per second", one));
    for (const CellView* cell : series_.cells()) {
      const double count = record::number_or(cell->setting(axis), 0);
      // Cells are in the order of counts: the first of a line is its base.
      base_.try_emplace(series_.line(*cell), count, cell->throughput.centre());
      add(*cell, count);
    }
    for (const std::string& measure : measures_)
      for (const std::string& panel : series_.has_panels() ? series_.panels() : std::vector<std::string>{""})
        panels_.push_back(title(measure, panel));
  }

  const Series& series() const { return series_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& panels() const { return panels_; }
  std::vector<double> counts() const { return {counts_.begin(), counts_.end()}; }
  std::size_t measures() const { return measures_.size(); }
  bool small() const { return panels_.size() > 6; }
  // A wide range is read on logarithms, where the ideal stays a straight line.
  bool wide() const { return !counts_.empty() && *counts_.rbegin() / *counts_.begin() > 16; }
  std::pair<double, double> range() const { return {low_, high_}; }  // of what is drawn

 private:
  static constexpr std::size_t kMostTwice = 4;

  std::string title(const std::string& measure, const std::string& panel) const {
    if (panel.empty()) return measure;
    return measures_.size() == 1
               ? panel
               : panel + ": " + static_cast<char>(std::tolower(measure[0])) + measure.substr(1);
  }

  void add(const CellView& cell, double count) {
    const auto& [base_count, base_speed] = base_.at(series_.line(cell));
    const CellThroughput& speed = cell.throughput;
    for (std::size_t measure = 0; measure < measures_.size(); ++measure) {
      const double share = measure == 0 ? 1 : 1 / count;  // of the total
      const double ideal = base_speed * count / base_count;
      const Row head{{"count", count},
                     {"series", series_.name(cell)},
                     {"line", series_.line(cell)},
                     {"panel", title(measures_[measure], series_.panel(cell))}};
      Row row = head;
      row.insert(row.end(), {{"kind", std::string("cell")},
                             {"label", cell.label},
                             {"value", speed.centre() * share},
                             {"ideal", ideal * share},
                             {"efficiency", speed.centre() / ideal}});
      if (speed.has_interval())
        row.insert(row.end(), {{"low", speed.interval.low * share}, {"high", speed.interval.high * share}});
      rows_.push_back(std::move(row));
      low_ = std::min(low_, speed.centre() * share);
      high_ = std::max({high_, speed.centre() * share, ideal * share});
      for (const record::RunRecord* run : cell.done) {
        if (!run->images_per_second || !series_.shows_runs() || speed.runs < 2) continue;
        Row dot = head;
        dot.insert(dot.end(), {{"kind", std::string("run")}, {"value", *run->images_per_second * share}});
        rows_.push_back(std::move(dot));
      }
    }
  }

  Series series_;
  std::string axis_;
  std::vector<std::string> measures_, panels_;
  std::map<std::string, std::pair<double, double>> base_;  // count and speed, by line
  std::set<double> counts_;
  std::vector<Row> rows_;
  double low_ = INFINITY, high_ = 0;
};

// The singular name of what an axis counts.
constexpr std::pair<const char*, const char*> kCounts[] = {
    {"threads", "thread"}, {"devices", "device"},      {"gpus", "GPU"},
    {"workers", "worker"}, {"tasks_per_node", "task"}, {"nodes", "node"}};

Chart make_scaling_chart(const StudyView& view, const std::string& axis, const std::string& one) {
  const std::string many = one + "s";
  Chart chart{"scaling-" + axis, fmt::format("Scaling with {}", many), "", "", ""};
  const ScalingRows scaling(view, axis, one);
  const std::vector<double> counts = scaling.counts();
  if (counts.size() < 2) {
    chart.left_out = fmt::format("no two cells with results differ in '{}' alone", axis);
    return chart;
  }
  const Series& series = scaling.series();
  chart.explanation =
      fmt::format("Dashed: ideal, from the fewest {} on. {}", many, kinds_of_scaling(series, axis));
  if (!series.shared().empty()) chart.explanation += fmt::format(" Here: {}.", series.shared());
  const bool wide = scaling.wide(), few = series.shows_runs();
  const auto [low, high] = scaling.range();
  const std::string ticks = wide ? fmt::format(R"("values": {}, "labelOverlap": "greedy")",
                                               to_json(log_ticks(low / 2, high * 2, 4)))
                                 : R"("tickCount": 6)";
  const std::string view_text = fill_spec(
      kScalingView,
      {{"title", to_json(many)},
       {"counts", to_json(counts)},
       {"scale", wide ? R"({"type": "log", "base": 2, "nice": false, "padding": 10})"
                      : R"({"zero": false, "nice": false, "padding": 14})"},
       {"scale_y", wide ? R"({"type": "log"})" : R"({"zero": true})"},
       {"title_y", scaling.measures() == 1 && series.has_panels() ? R"("images per second")" : "null"},
       {"ticks", ticks},
       {"height", scaling.small() ? "180" : "240"},
       {"ideal", few ? "0.65" : "0.3"},
       {"stroke", few ? "2" : "1.3"},
       {"dot", few ? "70" : "30"},
       {"shape", series.shape_channel()},
       {"colour", series.colour_channel()}});
  chart.spec = finish_spec(view_text, scaling.rows(), {"panel", scaling.panels(), {"y"}},
                           {scaling.small() || series.panels().size() == 3 ? 3 : 2, 300, 64});
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

namespace {

constexpr const char* kBatchView = R"json({
  "height": $height,
  "encoding": {
    "x": {"field": "batch", "type": "quantitative", "title": "batch (images a step), logarithmic",
          "scale": {"type": "log", "base": 2, "nice": false, "padding": 16},
          "axis": {"values": $batches, "format": "d", "grid": false, "labelOverlap": "greedy"}},
    "y": {"type": "quantitative", "title": "images per second", "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 6}},
    "color": $colour
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "area", "opacity": $band, "line": false},
      "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}, "detail": {"field": "line"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 22, "opacity": 0.45},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line", "strokeWidth": $stroke},
      "encoding": {"y": {"field": "value"}, "detail": {"field": "line"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "point", "size": $dot},
      "encoding": {
        "y": {"field": "value"}, "shape": $shape,
        "tooltip": [
          {"field": "label", "title": "cell"},
          {"field": "value", "type": "quantitative", "title": "images/s", "format": ",.4~r"},
          {"field": "low", "type": "quantitative", "title": "95 % from", "format": ",.4~r"},
          {"field": "high", "type": "quantitative", "title": "95 % to", "format": ",.4~r"},
          {"field": "runs", "type": "quantitative", "title": "runs"}
        ]
      }
    }
  ]
})json";

}  // namespace

Chart make_batch_chart(const StudyView& view) {
  Chart chart{"batch", "Batch sweep",
              "Line: median over runs. Band: 95 % interval between runs. Small dots: the runs.", "", ""};
  const Axis* axis = view.find_axis("batch");
  if (axis == nullptr || !axis->numeric) {
    chart.left_out = "'batch' does not vary in this study";
    return chart;
  }
  if (view.cells.size() > kMostCells) {
    chart.left_out = fmt::format("{} cells are too many for lines", view.cells.size());
    return chart;
  }
  const Series series(view, "batch");
  std::vector<Row> rows;
  std::set<double> batches;
  for (const CellView* cell : series.cells()) {
    const double batch = record::number_or(cell->setting("batch"), 0);
    const CellThroughput& speed = cell->throughput;
    batches.insert(batch);
    const Row head{{"batch", batch},
                   {"series", series.name(*cell)},
                   {"line", series.line(*cell)},
                   {"panel", series.panel(*cell)}};
    Row row = head;
    row.insert(row.end(), {{"kind", std::string("cell")},
                           {"label", cell->label},
                           {"value", speed.centre()},
                           {"runs", std::int64_t{speed.runs}}});
    if (speed.has_interval())
      row.insert(row.end(), {{"low", speed.interval.low}, {"high", speed.interval.high}});
    rows.push_back(std::move(row));
    for (const record::RunRecord* run : cell->done) {
      if (!run->images_per_second || !series.shows_runs() || speed.runs < 2) continue;
      Row dot = head;
      dot.insert(dot.end(), {{"kind", std::string("run")}, {"value", *run->images_per_second}});
      rows.push_back(std::move(dot));
    }
  }
  if (batches.size() < 2) {
    chart.left_out = "no two cells with results differ in 'batch' alone";
    return chart;
  }
  if (!series.shared().empty()) chart.explanation += fmt::format(" Here: {}.", series.shared());
  const bool few = series.shows_runs(), small = series.panels().size() > 4;
  const std::string filled =
      fill_spec(kBatchView, {{"batches", to_json(std::vector<double>(batches.begin(), batches.end()))},
                             {"colour", series.colour_channel()},
                             {"shape", series.shape_channel()},
                             {"height", small                 ? "180"
                                        : series.has_panels() ? "250"
                                                              : "300"},
                             {"band", few ? "0.13" : "0.04"},
                             {"stroke", few ? "2.2" : "1.4"},
                             {"dot", few ? "70" : "30"}});
  Panels panels;
  if (series.has_panels()) panels = {"panel", series.panels(), series.own_scales()};
  chart.spec = finish_spec(filled, rows, panels, {small ? 3 : 2, small ? 300 : 360, 76});
  return chart;
}

}  // namespace trainyard::report
