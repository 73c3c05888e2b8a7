#include "report/charts.h"

#include <utility>

namespace trainyard::report {

std::vector<Chart> make_charts(const StudyView& view) {
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
  return charts;
}

}  // namespace trainyard::report
