#include "analyze/ensemble.h"
#include "base/json.h"
#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {

namespace {

constexpr const char* kEnsembleCoresView = R"json({
  "height": 300,
  "layer": [
    {"mark": {"type": "line", "point": {"size": 60}},
     "encoding": {
       "x": {"field": "cores", "type": "quantitative", "title": "cores", "axis": {"format": "d", "tickMinStep": 1}},
       "y": {"aggregate": "mean", "field": "times", "type": "quantitative", "title": "times faster than the baseline"},
       "color": {"field": "series", "type": "nominal", "title": null},
       "tooltip": [
         {"field": "series"}, {"field": "cores", "type": "quantitative"},
         {"aggregate": "mean", "field": "times", "type": "quantitative", "title": "speed-up", "format": ".3~r"}
       ]
     }}
  ]
})json";

}  // namespace

Chart make_ensemble_cores_chart(const std::vector<analyze::EnsembleRun>& runs) {
  Chart chart{"ensemble-cores", "Speed-up of sharing against cores",
              "Images a second of a member over those of the baseline with as many members and cores.", "",
              ""};
  std::vector<Row> rows;
  for (const analyze::CoreSpeedup& one : analyze::core_speedups(runs))
    rows.push_back({{"cores", std::int64_t{one.cores}},
                    {"times", one.speedup},
                    {"series", fmt::format("{}, {} members", one.design, one.members)}});
  if (rows.empty())
    chart.left_out = "no design has a baseline of as many members and cores beside it";
  else
    chart.spec = finish_spec(kEnsembleCoresView, rows, {}, {1, 420, 80});
  return chart;
}

namespace {

constexpr const char* kEnsemblePowerView = R"json({
  "height": {"step": 22},
  "layer": [
    {"mark": {"type": "bar"},
     "encoding": {
       "y": {"field": "label", "type": "nominal", "title": null, "sort": null},
       "x": {"field": "joules", "type": "quantitative", "title": "joules an image"},
       "color": {"field": "what", "type": "nominal", "title": null},
       "tooltip": [
         {"field": "label", "title": "cell"}, {"field": "what"},
         {"field": "joules", "type": "quantitative", "title": "joules an image", "format": ".4~r"},
         {"field": "watts", "type": "quantitative", "title": "watts", "format": ".4~r"}
       ]
     }}
  ]
})json";

}  // namespace

Chart make_ensemble_power_chart(const StudyView& view) {
  Chart chart{"ensemble-power", "Energy of an image",
              "Above the idle machine where its power was taken before the run, and the rest.", "", ""};
  std::vector<Row> rows;
  for (const CellView& cell : view.cells)
    for (const record::RunRecord* run : cell.done) {
      const double all = run->figure_or("energy_joules_per_image", 0),
                   watts = run->figure_or("power_watts", 0);
      if (!(all > 0)) continue;
      const double above = run->figure_or("energy_above_idle_joules_per_image", all);
      const bool split = run->figures.contains("energy_above_idle_joules_per_image");
      rows.push_back({{"label", cell.label},
                      {"what", std::string(split ? "above idle" : "all")},
                      {"joules", above},
                      {"watts", watts}});
      if (split)
        rows.push_back({{"label", cell.label},
                        {"what", std::string("idle")},
                        {"joules", all - above},
                        {"watts", watts}});
    }
  if (rows.empty())
    chart.left_out = "no run could read a counter of energy";
  else
    chart.spec = finish_spec(kEnsemblePowerView, rows, {}, {1, 420, 0, "label"});
  return chart;
}

namespace {

constexpr std::size_t kMostQueuePanels = 8;

constexpr const char* kEnsembleQueuesView = R"json({
  "height": 160,
  "layer": [
    {"mark": {"type": "line", "strokeWidth": 1.5, "interpolate": "step-after"},
     "encoding": {
       "x": {"field": "seconds", "type": "quantitative", "title": "seconds", "axis": {"tickCount": 6}},
       "y": {"field": "fill", "type": "quantitative", "title": "full", "axis": {"format": "%"}, "scale": {"domain": [0, 1]}},
       "color": {"field": "series", "type": "nominal", "title": null}
     }}
  ]
})json";

// Adds the queue fills that one run's processes noted: for each kind of queue the mean over processes.
void add_queues(const record::RunRecord& run, const std::string& panel, std::vector<Row>& rows) {
  const auto found = run.details.find("members");
  if (found == run.details.end()) return;
  std::map<std::pair<std::string, std::int64_t>, std::pair<double, int>>
      sums;  // by name and tenth of a second
  for (const Json& member : parse_json(found->second)) {
    const Json queues = member.value("queues", Json::object());
    const Json names = queues.value("names", Json::array());
    for (const Json& sample : queues.value("samples", Json::array()))
      for (std::size_t i = 0; i < names.size() && i + 2 < sample.size(); ++i) {
        auto& [sum, count] = sums[{names[i].get<std::string>(), std::llround(sample[0].get<double>() * 10)}];
        sum += sample[i + 2].get<double>();
        ++count;
      }
  }
  for (const auto& [key, sum] : sums)
    rows.push_back({{"panel", panel},
                    {"seconds", static_cast<double>(key.second) / 10},
                    {"fill", sum.first / sum.second},
                    {"series", key.first}});
}

}  // namespace

Chart make_ensemble_queues_chart(const StudyView& view) {
  Chart chart{"ensemble-queues", "How full the queues were",
              "Means over members: what is made and not yet passed on, and what waits for its steps. Empty "
              "before a stage: it waits "
              "for samples; full: those who make them wait for it.",
              "", ""};
  std::vector<Row> rows;
  std::vector<std::string> panels;
  // An evenly spaced selection of all cells is shown.
  const std::size_t step = (view.cells.size() + kMostQueuePanels - 1) / kMostQueuePanels;
  for (std::size_t i = 0; i < view.cells.size(); i += step) {
    const CellView& cell = view.cells[i];
    if (cell.done.empty()) continue;
    const std::size_t before = rows.size();
    add_queues(*cell.done.front(), cell.label, rows);
    if (rows.size() > before) panels.push_back(cell.label);
  }
  if (rows.empty())
    chart.left_out = "no run noted its queues";
  else
    chart.spec = finish_spec(kEnsembleQueuesView, rows, {"panel", panels, {"x"}}, {2, 320, 76});
  return chart;
}

// This chart shows what sharing saves as an ensemble grows: the pace of a member, and the CPU against the
// model.

namespace {

constexpr const char* kPeakView = R"json({
  "height": 300,
  "layer": [
    {"mark": {"type": "line", "point": true},
     "encoding": {
       "x": {"field": "members", "type": "quantitative", "title": "members", "axis": {"values": $members, "format": "d"}},
       "y": {"aggregate": "mean", "field": "rate", "type": "quantitative", "title": "images a second of a member"},
       "color": {"field": "series", "type": "nominal", "title": null}
     }},
    {"mark": {"type": "point", "size": 40, "opacity": 0.6},
     "encoding": {
       "x": {"field": "members", "type": "quantitative"},
       "y": {"field": "rate", "type": "quantitative"},
       "color": {"field": "series", "type": "nominal"},
       "tooltip": [
         {"field": "series", "title": "design"}, {"field": "members", "type": "quantitative"},
         {"field": "rate", "type": "quantitative", "title": "images a second", "format": ".4~r"}, {"field": "run"}
       ]
     }}
  ]
})json";

constexpr const char* kReductionView = R"json({
  "height": 300,
  "layer": [
    {"transform": [{"filter": "datum.kind == 'model'"}],
     "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5},
     "encoding": {
       "x": {"field": "members", "type": "quantitative"},
       "y": {"field": "times", "type": "quantitative"},
       "color": {"field": "series", "type": "nominal", "title": null}
     }},
    {"transform": [{"filter": "datum.kind == 'run'"}],
     "mark": {"type": "point", "size": 60, "opacity": 0.8},
     "encoding": {
       "x": {"field": "members", "type": "quantitative", "title": "members", "axis": {"values": $members, "format": "d"}},
       "y": {"field": "times", "type": "quantitative", "title": "times less CPU an image"},
       "color": {"field": "series", "type": "nominal"},
       "tooltip": [
         {"field": "series", "title": "design"}, {"field": "members", "type": "quantitative"},
         {"field": "times", "type": "quantitative", "title": "measured", "format": ".3~r"},
         {"field": "model", "type": "quantitative", "title": "model", "format": ".3~r"},
         {"field": "t", "type": "quantitative", "format": ".3~r"}
       ]
     }}
  ]
})json";

std::string sizes_of(const std::vector<analyze::EnsembleRun>& runs) {
  std::vector<double> sizes;
  for (const analyze::EnsembleRun& run : runs) sizes.push_back(run.members);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return to_json(sizes);
}

// Returns the design, and where runs have several the number that preprocess.
std::string series_of(const analyze::EnsembleRun& run) {
  const bool broadcast = run.design.find("broadcast") != std::string::npos;
  return broadcast ? fmt::format("{}, p = {}", run.design, run.preprocessors) : run.design;
}

}  // namespace

Chart make_ensemble_peak_chart(const std::vector<analyze::EnsembleRun>& runs) {
  Chart chart{
      "ensemble-peak", "Images a second of a member, by design",
      "A dot a run; lines join their means. Where nothing trains this is the peak that a design delivers.",
      "", ""};
  std::vector<Row> rows;
  for (const analyze::EnsembleRun& run : runs)
    if (run.images_per_second > 0)
      rows.push_back({{"members", std::int64_t{run.members}},
                      {"rate", run.images_per_second},
                      {"series", series_of(run)},
                      {"run", run.id}});
  if (rows.empty()) {
    chart.left_out = "no ensemble has a rate";
    return chart;
  }
  chart.spec = finish_spec(fill_spec(kPeakView, {{"members", sizes_of(runs)}}), rows, {}, {1, 420, 80});
  return chart;
}

Chart make_ensemble_reduction_chart(const std::vector<analyze::EnsembleRun>& runs) {
  Chart chart{"ensemble-reduction", "CPU that sharing saves", "", "", ""};
  const std::vector<analyze::CpuReduction> reductions = analyze::cpu_reductions(runs);
  if (reductions.empty()) {
    chart.left_out = "no design has a baseline of as many members and cores beside it";
    return chart;
  }
  std::vector<Row> rows;
  std::map<std::string, std::vector<double>> shares;
  int most = 1;
  for (const analyze::CpuReduction& one : reductions) {
    most = std::max(most, one.members);
    shares[one.design].push_back(one.t);
    rows.push_back({{"kind", std::string("run")},
                    {"members", std::int64_t{one.members}},
                    {"times", one.measured},
                    {"model", one.model},
                    {"t", one.t},
                    {"series", one.design}});
  }
  chart.explanation =
      "CPU an image that a member gets, without sharing over with it. Dashed: n (1 + t) / (1 + n t)";
  for (auto& [design, list] : shares) {
    std::nth_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2), list.end());
    const double t = list[list.size() / 2];
    chart.explanation +=
        fmt::format("{} t = {:.3f} for {}", design == shares.begin()->first ? " with" : ",", t, design);
    for (int members = 1; members <= most; ++members)
      rows.push_back({{"kind", std::string("model")},
                      {"members", std::int64_t{members}},
                      {"times", analyze::reduction_model(members, t)},
                      {"series", design}});
  }
  chart.explanation += ".";
  chart.spec = finish_spec(fill_spec(kReductionView, {{"members", sizes_of(runs)}}), rows, {}, {1, 420, 80});
  return chart;
}

}  // namespace trainyard::report
