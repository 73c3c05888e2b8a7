#include "report/prediction/eval_charts.h"

#include "report/text.h"

namespace trainyard::report {

using predict::Judged;

bool has_interval(const Judged& one) { return one.low < one.high; }

bool has_intervals(const EvalView& view) {
  return std::any_of(view.judged.begin(), view.judged.end(), has_interval);
}

std::string family_name(const PredictedRun& run) { return run.family.empty() ? "other" : run.family; }

std::vector<std::string> families_of(const EvalView& view) {
  std::set<std::string> names;
  bool known = false;
  for (const Judged& one : view.judged) {
    names.insert(family_name(view.run(one)));
    known = known || !view.run(one).family.empty();
  }
  if (!known) return {};
  return {names.begin(), names.end()};
}

predict::NamedScores family_scores(const EvalView& view) {
  return predict::scores_by(view.judged, [&](const Judged& one) { return family_name(view.run(one)); });
}

predict::NamedScores device_scores(const EvalView& view) {
  return predict::scores_by(view.judged, [&](const Judged& one) { return view.run(one).device; });
}

predict::NamedScores network_scores(const EvalView& view) {
  return predict::scores_by(view.judged, [&](const Judged& one) { return view.run(one).network; });
}

namespace {

// More are neither told apart nor drawn in good time.
constexpr std::size_t kMostPoints = 3000;

bool drawable(const Judged& one) { return !one.oom && one.measured > 0 && one.predicted > 0; }

}  // namespace

const char* const kRunTooltip = R"json([
          {"field": "network"}, {"field": "series", "title": "family"}, {"field": "batch", "type": "quantitative"},
          {"field": "optimizer"}, {"field": "device"}, {"field": "epochs", "type": "quantitative"}, {"field": "dataset"},
          {"field": "measured", "type": "quantitative", "title": "measured, s", "format": ",.4~r"},
          {"field": "predicted", "type": "quantitative", "title": "predicted, s", "format": ",.4~r"},
          {"field": "low", "type": "quantitative", "title": "90 % from, s", "format": ",.4~r"},
          {"field": "high", "type": "quantitative", "title": "90 % to, s", "format": ",.4~r"},
          {"field": "error", "type": "quantitative", "title": "error", "format": "+.1%"}
        ])json";

DrawnRuns drawn_runs(const EvalView& view) {
  std::vector<const Judged*> all;
  for (const Judged& one : view.judged)
    if (drawable(one)) all.push_back(&one);
  const std::size_t step = (all.size() + kMostPoints - 1) / kMostPoints;
  if (step < 2) return {all, ""};
  DrawnRuns drawn{{}, fmt::format(" One of {} of {} predictions.", step, all.size())};
  for (std::size_t i = 0; i < all.size(); i += step) drawn.runs.push_back(all[i]);
  return drawn;
}

Row run_row(const PredictedRun& run, const Judged& one) {
  Row row{{"kind", std::string("run")},
          {"network", run.network},
          {"series", family_name(run)},
          {"device", run.device},
          {"batch", run.batch},
          {"optimizer", run.optimizer},
          {"epochs", run.epochs},
          {"dataset", run.dataset},
          {"measured", one.measured},
          {"predicted", one.predicted},
          {"error", one.predicted / one.measured - 1}};
  if (has_interval(one)) row.insert(row.end(), {{"low", one.low}, {"high", one.high}});
  return row;
}

std::string run_colours(const EvalView& view) {
  const std::vector<std::string> families = families_of(view);
  return family_colours(families.empty() ? std::vector<std::string>{"other"} : families);
}

std::vector<Chart> make_eval_charts(const EvalView& view) {
  const std::vector<std::string> families = families_of(view);
  return {
      make_predicted_chart(view),
      make_off_chart(view),
      make_errors_chart("family", families.empty() ? predict::NamedScores{} : family_scores(view), families),
      make_errors_chart("device", device_scores(view), {}),
      make_errors_chart("network", network_scores(view), {}),
      make_coverage_chart(view)};
}

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
        "no prediction has an interval: the model was not calibrated (an evaluation by splits calibrates it "
        "where intervals are asked for)";
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

namespace {

// The text comes first, as all parts have one: it gives the bars their order.
constexpr const char* kErrorsView = R"json({
  "height": {"step": 30},
  "encoding": {
    "y": {"field": "part", "type": "nominal", "sort": null, "title": null, "axis": {"labelOverlap": false}}
  },
  "layer": [
    {
      "mark": {"type": "text", "align": "left", "dx": 10},
      "encoding": {
        "x": {"field": "p95", "type": "quantitative", "title": "|predicted - measured| / measured, %",
              "scale": {"domain": [0, $most], "nice": false}, "axis": {"format": ",~r", "tickCount": 8}},
        "text": {"field": "text"}
      }
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "rule", "strokeWidth": 1.6, "color": "@ink"},
      "encoding": {"x": {"field": "median", "type": "quantitative"}, "x2": {"field": "p95"}}
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "tick", "thickness": 1.6, "size": 11, "color": "@ink"},
      "encoding": {"x": {"field": "p95", "type": "quantitative"}, "tooltip": $tooltip}
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 3},
      "encoding": {"x": {"field": "median", "type": "quantitative"}, "color": $colour, "tooltip": $tooltip}
    },
    {
      "transform": [{"filter": "datum.runs > 0"}],
      "mark": {"type": "point", "size": 34, "filled": true, "fill": "@card", "stroke": "@ink", "strokeWidth": 1.1, "opacity": 1},
      "encoding": {"x": {"field": "mean", "type": "quantitative"}, "tooltip": $tooltip}
    }
  ]
})json";

constexpr const char* kErrorsTooltip = R"json([
  {"field": "part", "title": $parts}, {"field": "runs", "type": "quantitative"},
  {"field": "median", "type": "quantitative", "title": "median, %", "format": ".1f"},
  {"field": "mean", "type": "quantitative", "title": "mean, %", "format": ".1f"},
  {"field": "p95", "type": "quantitative", "title": "95 % of runs below, %", "format": ".1f"}
])json";

// The longest line has its figures behind it.
constexpr double kRoomForText = 1.25;

Row error_row(const std::string& name, const predict::Score& score, const std::string& series) {
  Row row{{"part", fmt::format("{} ({})", name, count_text(static_cast<long long>(score.runs), "run"))},
          {"runs", static_cast<std::int64_t>(score.runs)},
          {"series", series},
          {"median", 100 * score.median},
          {"mean", 100 * score.mape},
          {"p95", 100 * score.p95}};
  row.emplace_back("text", score.runs == 0 ? "no run ended well"
                                           : fmt::format("{} (95 %: {})", percent_text(score.median),
                                                         percent_text(score.p95)));
  return row;
}

}  // namespace

Chart make_errors_chart(const std::string& parts, predict::NamedScores scores,
                        const std::vector<std::string>& families) {
  Chart chart{
      "errors-" + parts, "Error by " + parts,
      "Bar: the median of relative errors. White dot: their mean. Line: up to what 95 % of runs stay below.",
      "", ""};
  if (scores.empty()) {
    chart.left_out = fmt::format("no run says its {}", parts);
    return chart;
  }
  if (scores.size() > kMostCells) {
    chart.left_out = fmt::format("{} are too many for bars", scores.size());
    return chart;
  }
  std::stable_sort(scores.begin(), scores.end(),
                   [](const auto& a, const auto& b) { return a.second.median > b.second.median; });
  std::vector<Row> rows;
  double most = 0.01;
  for (const auto& [name, score] : scores) most = std::max({most, score.p95, score.mape});
  for (const auto& [name, score] : scores)
    rows.push_back(error_row(name, score, families.empty() ? "" : name));
  const std::string colour =
      families.empty() ? fmt::format(R"({{"value": "{}"}})", kPlainColour) : family_colours(families, false);
  chart.spec = finish_spec(
      fill_spec(kErrorsView, {{"most", to_json(100 * most * kRoomForText)},
                              {"colour", colour},
                              {"tooltip", fill_spec(kErrorsTooltip, {{"parts", to_json(parts)}})}}),
      rows, {}, {});
  return chart;
}

namespace {

// The legend listens to the first layer that has colours alone.
constexpr const char* kOffView = R"json({
  "height": 380,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'line'"}],
      "mark": {"type": "rule", "strokeWidth": 1.1, "color": "@guide"},
      "encoding": {
        "y": {"field": "off", "type": "quantitative", "title": "(predicted - measured) / measured, %"},
        "strokeDash": {"condition": {"test": "datum.off == 0", "value": [1, 0]}, "value": [4, 4]}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run' && isValid(datum.low)"},
                    {"calculate": "100 * (datum.low / datum.measured - 1)", "as": "off_low"},
                    {"calculate": "100 * (datum.high / datum.measured - 1)", "as": "off_high"}],
      "params": [{"name": "shown", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}],
      "mark": {"type": "rule", "strokeWidth": 1},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative"},
        "y": {"field": "off_low", "type": "quantitative"}, "y2": {"field": "off_high"},
        "color": $colour, "opacity": {"condition": {"param": "shown", "value": 0.35}, "value": 0.02}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}, {"calculate": "100 * datum.error", "as": "off"}],
      "mark": {"type": "point", "size": 26},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative", "title": "measured, seconds",
              "scale": {"type": "log", "domain": $domain, "nice": false}, "axis": {"values": $ticks, "format": ",~r"}},
        "y": {"field": "off", "type": "quantitative"},
        "color": $colour, "opacity": {"condition": {"param": "shown", "value": 0.8}, "value": 0.05},
        "tooltip": $tooltip
      }
    }
  ]
})json";

}  // namespace

Chart make_off_chart(const EvalView& view) {
  Chart chart{"off", "How far off",
              "The same runs. Above zero: predicted to take longer than they did. Dashed: 10 %.", "", ""};
  const DrawnRuns drawn = drawn_runs(view);
  if (drawn.runs.empty()) {
    chart.left_out = "no run ended well";
    return chart;
  }
  double from = drawn.runs.front()->measured, to = from;
  std::vector<Row> rows;
  for (const predict::Judged* one : drawn.runs) {
    rows.push_back(run_row(view.run(*one), *one));
    from = std::min(from, one->measured);
    to = std::max(to, one->measured);
  }
  for (const double off : {-10.0, 0.0, 10.0}) rows.push_back({{"kind", std::string("line")}, {"off", off}});
  if (has_intervals(view))
    chart.explanation += " Vertical lines: 90 % intervals; one that does not cross zero did not hold.";
  chart.explanation += drawn.thinned;
  chart.spec =
      finish_spec(fill_spec(kOffView, {{"domain", to_json(std::vector<double>{from / 1.1, to * 1.1})},
                                       {"ticks", to_json(log_ticks(from / 1.1, to * 1.1))},
                                       {"colour", run_colours(view)},
                                       {"tooltip", kRunTooltip}}),
                  rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
