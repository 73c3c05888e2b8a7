#include "base/json.h"
#include "report/chart.h"

#include <iterator>

namespace trainyard::report {

namespace {

std::vector<Chart> make_ensemble_charts(const StudyView& view) {
  std::vector<analyze::EnsembleRun> runs;
  for (const CellView& cell : view.cells)
    for (const record::RunRecord* run : cell.done)
      for (analyze::EnsembleRun& one : analyze::ensemble_runs(std::span(run, 1)))
        runs.push_back(std::move(one));
  if (runs.empty()) return {};
  return {make_ensemble_peak_chart(runs), make_ensemble_reduction_chart(runs),
          make_ensemble_cores_chart(runs), make_ensemble_queues_chart(view), make_ensemble_power_chart(view)};
}

std::vector<Chart> make_study_charts(const StudyView& view) {
  std::vector<Chart> charts = make_throughput_charts(view);
  const auto add = [&](std::vector<Chart> more) {
    std::move(more.begin(), more.end(), std::back_inserter(charts));
  };
  if (std::vector<Chart> ensembles = make_ensemble_charts(view); !ensembles.empty()) {
    add(std::move(ensembles));
    return charts;
  }
  add(make_scaling_charts(view));
  add({make_batch_chart(view)});
  add(make_latency_charts(view));
  // A sweep over networks has other things to show.
  const analyze::Analysis analysis = analyze::analyse(analyze::make_points(view.runs));
  add(make_heat_map_charts(analysis));
  add({make_weights_chart(analysis)});
  add(make_roofline_charts(analysis));
  add({make_ops_chart(analysis), make_limits_chart(analysis)});
  add(make_speedup_charts(view));
  add({make_cores_chart(view), make_staging_chart(view), make_steps_chart(view)});
  // Few studies profile; the others need not say that they do not.
  if (Chart profile = make_profile_chart(view); !profile.spec.empty())
    charts.insert(charts.begin(), std::move(profile));
  return charts;
}

std::size_t count_panels(const Chart& chart) {
  if (chart.spec.empty()) return 0;
  const Json spec = parse_json(chart.spec);
  return spec.contains("facet") ? spec["facet"]["sort"].size() : 1;
}

}  // namespace

std::vector<Chart> make_charts(const StudyView& view) {
  std::vector<Chart> charts = make_study_charts(view);
  std::size_t open = 0;
  for (Chart& chart : charts) {
    const std::size_t panels = count_panels(chart);
    chart.folded = open > 0 && open + panels > kMostOpenPanels;
    if (!chart.folded) open += panels;
  }
  return charts;
}

}  // namespace trainyard::report
