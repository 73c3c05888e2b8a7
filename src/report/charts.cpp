#include "report/charts.h"

#include <span>
#include <utility>

namespace trainyard::report {

namespace {

std::vector<Chart> make_ensemble_charts(const StudyView& view) {
  std::vector<analyze::EnsembleRun> runs;
  for (const Cell& cell : view.cells)
    for (const record::RunRecord* run : cell.done)
      for (analyze::EnsembleRun& one : analyze::ensemble_runs(std::span(run, 1)))
        runs.push_back(std::move(one));
  if (runs.empty()) return {};
  return {make_ensemble_peak_chart(runs), make_ensemble_reduction_chart(runs),
          make_ensemble_cores_chart(runs), make_ensemble_queues_chart(view), make_ensemble_power_chart(view)};
}

}  // namespace

std::vector<Chart> make_charts(const StudyView& view) {
  // A sweep over networks has other things to show.
  if (std::vector<Chart> ensembles = make_ensemble_charts(view); !ensembles.empty()) {
    ensembles.insert(ensembles.begin(), make_throughput_chart(view));
    return ensembles;
  }
  std::vector<Chart> charts{make_throughput_chart(view)};
  for (Chart& chart : make_scaling_charts(view)) charts.push_back(std::move(chart));
  for (const auto make : {make_batch_chart, make_steps_chart, make_cores_chart, make_staging_chart})
    charts.push_back(make(view));
  const analyze::Analysis analysis = analyze::analyse(analyze::make_points(view.runs));
  charts.push_back(make_heat_map_chart(analysis));
  charts.push_back(make_weights_chart(analysis));
  for (Chart& chart : make_roofline_charts(analysis)) charts.push_back(std::move(chart));
  charts.push_back(make_ops_chart(analysis));
  charts.push_back(make_limits_chart(analysis));
  for (Chart& chart : make_speedup_charts(view)) charts.push_back(std::move(chart));
  // Few studies profile; the others need not say that they do not.
  if (Chart profile = make_profile_chart(view); !profile.spec.empty())
    charts.insert(charts.begin(), std::move(profile));
  return charts;
}

}  // namespace trainyard::report
