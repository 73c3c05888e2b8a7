// What sharing saves as an ensemble grows: the pace of a member, and the CPU against the model.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyze/ensemble.h"
#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
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

// The design, and where runs have several the number that preprocess.
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
